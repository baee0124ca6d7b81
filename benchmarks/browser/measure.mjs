/**
 * Visits a page in Chromium for each arm, as a stranger would, with nothing in the cache, and prints what it took.
 *
 * The standard input is JSON: {"chromium": …, "rounds": …, "questions": [[question, passage], …], "arms": [{"name": …,
 * "page": …, "folders": {"/prefix/": folder}}]}. The first round is not counted: it compresses the files.
 */

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { chromium } from "playwright-core";

const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json", ".wasm": "application/wasm" };
const MODEL = /\.onnx$|\/models?\//;
const compressed = new Map();
const compress = promisify(gzip);

/** A host that sends files with gzip and counts what it sent. */
async function host(folders) {
  const sent = { model: 0, programs: 0, files: [] };
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    if (path === "/") return response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>");
    const prefix = Object.keys(folders).find((one) => path.startsWith(one));
    try {
      const file = join(folders[prefix], path.slice(prefix.length));
      if (!compressed.has(file)) compressed.set(file, await compress(await readFile(file)));
      const bytes = compressed.get(file);
      sent[MODEL.test(path) ? "model" : "programs"] += bytes.length;
      sent.files.push([path, bytes.length]);
      const type = TYPES[extname(file)] ?? "application/octet-stream";
      response.writeHead(200, { "content-type": type, "content-encoding": "gzip", "content-length": bytes.length });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { home: `http://127.0.0.1:${server.address().port}/`, sent, close: () => server.close() };
}

async function memory(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const statuses = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => readFileSync(`/proc/${id}/status`, "utf8"));
  return statuses.reduce((sum, status) => sum + Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024, 0);
}

async function visit({ page: name, folders }, { chromium: executablePath, questions }) {
  const site = await host({ "/arms/": new URL("arms", import.meta.url).pathname, ...folders });
  const browser = await chromium.launch({
    executablePath,
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
  });
  try {
    const page = await browser.newPage();
    const failures = [];
    page.on("requestfailed", (request) => failures.push(request.url()));
    await page.goto(site.home);
    const taken = await page.evaluate(
      async ({ name, questions }) => {
        const began = performance.now();
        const { open } = await import(`/arms/${name}.js`);
        const ask = await open();
        const ready = performance.now() - began;
        const [milliseconds, answers] = [[], []];
        let first = 0;
        for (const [question, passage] of questions) {
          const start = performance.now();
          answers.push(await ask(question, passage));
          milliseconds.push(performance.now() - start);
          first ||= performance.now() - began;
        }
        return { ready, first, milliseconds, answers };
      },
      { name, questions },
    );
    if (failures.length) throw new Error(`not to be had: ${failures}`);
    const { model, programs, files } = site.sent;
    return { ...taken, megabytes: await memory(browser), model, programs, files };
  } finally {
    await browser.close();
    site.close();
  }
}

const job = JSON.parse(await text(process.stdin));
const visits = Object.fromEntries(job.arms.map(({ name }) => [name, []]));
for (let round = 0; round <= job.rounds; round++) {
  for (const arm of job.arms.map((_, place, arms) => arms[(place + round) % arms.length])) {
    process.stderr.write(`round ${round} of ${job.rounds}: ${arm.name}\n`);
    const taken = await visit(arm, job);
    if (round || !job.rounds) visits[arm.name].push(taken);
  }
}
process.stdout.write(JSON.stringify(visits));
