/**
 * Keeps the page for when there is no network: every file of the manifest, each with its hash checked.
 *
 * One version of the bundle is one cache and one worker, named after the hash of the manifest. A new one waits until
 * no tab shows the old one, so that no page is made of files of two versions.
 */

interface Scope {
  location: Location;
  registration: { scope: string };
  clients: { claim(): Promise<void> };
  addEventListener(type: "install" | "activate", listener: (event: Extended) => void): void;
  addEventListener(type: "fetch", listener: (event: Fetched) => void): void;
}

interface Extended {
  waitUntil(promise: Promise<unknown>): void;
}

interface Fetched {
  request: Request;
  respondWith(response: Promise<Response>): void;
}

const scope = self as unknown as Scope;
const home = new URL("./", scope.location.href);
// Pages of other folders of the same host have caches of their own.
const prefix = `pocketbert ${home.pathname} `;
const version = new URL(scope.location.href).searchParams.get("manifest") ?? "";
const MANIFEST = "manifest.json";
const NEWEST = "?newest"; // how the page asks for the manifest of today instead of its own

scope.addEventListener("install", (event) => event.waitUntil(fill()));
scope.addEventListener("activate", (event) => event.waitUntil(takeOver()));
scope.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || !url.href.startsWith(home.href)) return;
  const name = url.pathname.slice(home.pathname.length) || "index.html";
  const asked = name === MANIFEST && url.search === NEWEST;
  event.respondWith(asked ? newest(event.request) : kept(name, event.request));
});

async function fill(): Promise<void> {
  const response = await fetch(new URL(MANIFEST, home), { cache: "no-cache" });
  const text = await response.clone().text();
  if (hexadecimal(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))) !== version)
    throw new Error("the manifest has changed meanwhile");
  const cache = await caches.open(prefix + version);
  const { sha256 } = JSON.parse(text) as { sha256: Record<string, string> };
  // One after the other: the largest are in the browser's own cache by now, and nobody is waiting.
  for (const [name, hash] of Object.entries(sha256)) {
    const file = await fetch(new URL(name, home), { cache: "no-cache", integrity: `sha256-${base64(hash)}` });
    if (!file.ok) throw new Error(`${name} cannot be fetched`);
    // A host may have led elsewhere; a page may not be shown from an answer that says so.
    await cache.put(new URL(name, home), new Response(file.body, { status: file.status, headers: file.headers }));
  }
  await cache.put(new URL(MANIFEST, home), response);
}

async function takeOver(): Promise<void> {
  const old = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== prefix + version);
  await Promise.all(old.map((name) => caches.delete(name)));
  await scope.clients.claim();
}

async function kept(name: string, request: Request): Promise<Response> {
  const cache = await caches.open(prefix + version);
  return (await cache.match(new URL(name, home))) ?? fetch(request);
}

/** The manifest of today, if it can be had: it tells the page that there is a new version. */
async function newest(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    const cache = await caches.open(prefix + version);
    const found = await cache.match(new URL(MANIFEST, home));
    if (found) return found;
    throw error;
  }
}

function hexadecimal(buffer: ArrayBuffer): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function base64(digits: string): string {
  return btoa(String.fromCharCode(...digits.match(/../g)!.map((pair) => parseInt(pair, 16))));
}
