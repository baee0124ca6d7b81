/** The pages that the extension is tried on, and a proxy that nobody should ever have to ask. */

import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Served {
  body: string;
  type: string;
  headers: Record<string, string>;
  base64?: boolean;
}

export class Site {
  readonly pages = new Map<string, Served>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async open(): Promise<Site> {
    const server = createServer((request, response) => {
      const page = site.pages.get(new URL(request.url!, "http://localhost").pathname);
      if (!page) response.writeHead(404).end();
      else
        response
          .writeHead(200, { "content-type": page.type, ...page.headers })
          .end(Buffer.from(page.body, page.base64 ? "base64" : "utf8"));
    });
    const site: Site = new Site(server, await listening(server));
    return site;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

// What Chromium asks its maker for by itself, with and without an extension: accounts, components, what forms mean; at
// first in secret, and if nobody answers, some time later openly.
const CALLS_HOME = /^(?:http:\/\/)?[\w.-]+\.(?:google|googleapis|gvt1)\.com(?::443$|\/)/;

/** Whoever asks for another host than this machine comes here, from whichever part of the browser. */
export class Proxy {
  readonly asked: string[] = [];

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async open(): Promise<Proxy> {
    const note = (url: string) => {
      if (!CALLS_HOME.test(url)) proxy.asked.push(url);
    };
    const server = createServer((request, response) => {
      note(request.url!);
      response.writeHead(502).end();
    });
    server.on("connect", (request, socket) => {
      note(request.url!);
      socket.end("HTTP/1.1 502 No\r\n\r\n");
    });
    const proxy: Proxy = new Proxy(server, await listening(server));
    return proxy;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
