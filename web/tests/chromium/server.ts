/** Two origins on this machine that serve the package and a model, as strictly as a careful host would. */

import { readFile } from "node:fs/promises";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

export interface Folders {
  dist: string;
  model: string;
}

export interface Site {
  /** Ends with a slash. */
  home: string;
  close(): void;
}

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

export interface Page {
  head: string;
  /** Another host whose scripts the page trusts. */
  trusts?: string;
}

/** The strictest policy that works; a worker from another host comes in through a blob. */
function policy(trusts: string | undefined): string {
  const from = trusts ? `'self' ${trusts}` : "'self'";
  return (
    `default-src 'none'; script-src ${from} 'wasm-unsafe-eval'; connect-src ${from}; style-src 'self'; ` +
    `worker-src ${trusts ? `blob: ${trusts}` : "'self'"}`
  );
}

/** Serve /dist, /dist/model, /tampered (the model with a byte changed) and some empty pages. */
export async function serve(folders: Folders, pages: Record<string, Page> = {}): Promise<Site> {
  const server: Server = createServer((request, response) => {
    respond(request, response, folders, pages).catch(() => response.writeHead(404).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { home: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { dist, model }: Folders,
  pages: Record<string, Page>,
): Promise<void> {
  const path = normalize(decodeURIComponent(new URL(request.url!, "http://localhost").pathname));
  const [, first, ...rest] = path.split("/");
  const headers: Record<string, string> = { "access-control-allow-origin": "*" };
  // Workers of an isolated page must say so too; elsewhere it does no harm.
  if (first === "isolated" || first === "dist")
    Object.assign(headers, {
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
      "cross-origin-resource-policy": "cross-origin",
    });
  const page = pages[first!];
  if (page) {
    headers["content-security-policy"] = policy(page.trusts);
    const html = `<!doctype html><html lang="en"><head><title>${first}</title>${page.head}</head><body></body></html>`;
    response.writeHead(200, { ...headers, "content-type": TYPES[".html"]! }).end(html);
    return;
  }
  const inModel = first === "tampered" || rest[0] === "model";
  const file = inModel ? join(model, ...(first === "tampered" ? rest : rest.slice(1))) : join(dist, ...rest);
  const bytes = await readFile(file);
  if (first === "tampered" && file.endsWith(".onnx")) bytes[bytes.length >> 1]! ^= 1;
  const length = String(bytes.length);
  response.writeHead(200, {
    ...headers,
    "content-type": TYPES[extname(file)] ?? "application/octet-stream",
    "content-length": length,
  });
  response.end(bytes);
}
