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

const POLICY = (scripts: string) =>
  `default-src 'none'; script-src ${scripts} 'wasm-unsafe-eval'; connect-src ${scripts}; worker-src 'self' blob:; ` +
  "style-src 'self'";

/** Serve /dist, /dist/model, /tampered (the model with a byte changed) and the empty pages that `head` describes. */
export async function serve(folders: Folders, heads: Record<string, string> = {}, others = ""): Promise<Site> {
  const server: Server = createServer((request, response) => {
    respond(request, response, folders, heads, others).catch(() => response.writeHead(404).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { home: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { dist, model }: Folders,
  heads: Record<string, string>,
  others: string,
): Promise<void> {
  const path = normalize(decodeURIComponent(new URL(request.url!, "http://localhost").pathname));
  const [, first, ...rest] = path.split("/");
  const headers: Record<string, string> = { "access-control-allow-origin": "*" };
  if (first === "isolated" || request.headers.referer?.includes("/isolated") || first === "dist")
    Object.assign(headers, {
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
      "cross-origin-resource-policy": "cross-origin",
    });
  if (first! in heads) {
    headers["content-security-policy"] = POLICY(`'self' ${others}`);
    const page = `<!doctype html><html lang="en"><head><title>${first}</title>${heads[first!]}</head><body></body></html>`;
    response.writeHead(200, { ...headers, "content-type": TYPES[".html"]! }).end(page);
    return;
  }
  const inModel = first === "tampered" || rest[0] === "model";
  const file = inModel ? join(model, ...(first === "tampered" ? rest : rest.slice(1))) : join(dist, ...rest);
  const bytes = await readFile(file);
  if (first === "tampered" && file.endsWith(".onnx")) bytes[bytes.length >> 1]! ^= 1;
  const length = String(bytes.length);
  response.writeHead(200, { ...headers, "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-length": length });
  response.end(bytes);
}
