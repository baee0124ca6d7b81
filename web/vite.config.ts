/**
 * Six builds. Plain: the ES modules, the worker and the wasm, side by side in dist. `--mode script`: the one file
 * for a script tag. `--mode page`: the page, in dist-page. `--mode extension` and `--mode injected`: the extension, in
 * dist-extension, and its script that is put into pages. `--mode programs`: programs for Node that the Python tests
 * talk to.
 */

import { fileURLToPath } from "node:url";
import { defineConfig, type UserConfig } from "vite";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const common: UserConfig = {
  base: "./", // what belongs together is found from where it lies, on any host and in an extension
  publicDir: false,
  build: { target: "es2022", modulePreload: false, assetsInlineLimit: 0 },
};

// Names without hashes: a package's files are addressed by name.
const names = { entryFileNames: "[name].js", chunkFileNames: "[name].js", assetFileNames: "[name][extname]" };

const builds: Record<string, () => UserConfig> = {
  // Not Vite's library mode, which would put the wasm into the JavaScript as text.
  production: () => ({
    ...common,
    worker: { format: "es", rollupOptions: { output: names } },
    build: {
      ...common.build,
      rollupOptions: {
        input: { pocketbert: "src/index.ts", "qna.module": "src/qna/index.ts" },
        preserveEntrySignatures: "strict",
        output: { format: "es", ...names, chunkFileNames: "shared.js" },
      },
    },
  }),
  script: () => ({
    ...common,
    build: {
      ...common.build,
      emptyOutDir: false,
      rollupOptions: { input: { qna: "src/qna/script.ts" }, output: { format: "iife", ...names } },
    },
  }),
  page: () => ({
    ...common,
    root: "page",
    worker: { format: "es", rollupOptions: { output: names } },
    build: {
      ...common.build,
      outDir: "../dist-page",
      emptyOutDir: true,
      license: { fileName: "licenses.md" }, // of what is shipped with it
      rollupOptions: {
        input: { index: path("page/index.html"), "service-worker": path("page/service-worker.ts") },
        output: { format: "es", ...names },
      },
    },
  }),
  extension: () => ({
    ...common,
    publicDir: "extension/static",
    worker: { format: "es", rollupOptions: { output: names } },
    build: {
      ...common.build,
      outDir: "dist-extension",
      rollupOptions: {
        input: { panel: "extension/panel/panel.ts", background: "extension/background.ts" },
        output: { format: "es", ...names },
      },
    },
  }),
  // What is put into a page cannot import anything.
  injected: () => ({
    ...common,
    build: {
      ...common.build,
      outDir: "dist-extension",
      emptyOutDir: false,
      rollupOptions: { input: { page: "extension/page/page.ts" }, output: { format: "iife", ...names } },
    },
  }),
  programs: () => ({
    ...common,
    build: {
      target: "node20",
      outDir: "build",
      ssr: true,
      minify: false,
      rollupOptions: {
        input: {
          parity: "tests/parity.ts",
          chromium: "tests/chromium/chromium.ts",
          extension: "tests/extension/remote.ts",
          page: "tests/chromium/page.ts",
        },
        external: [/^\/dist\//], // what a page imports
        output: { format: "es", ...names },
      },
    },
  }),
};

export default defineConfig(
  ({ mode }) => ({ ...(builds[mode] ?? (() => common))(), test: { include: ["tests/**/*.test.ts"] } }) as UserConfig,
);
