/**
 * Uses the page in a real Chromium and prints what came of it, for the Python tests: `node build/page.js NAME`.
 *
 * The standard input is JSON: {"home": where it is served, "chromium": …, and what the scenario asks for}.
 */

import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";
import { scenarios } from "./page-scenarios";

const job = JSON.parse(await text(process.stdin));
const browser = await chromium.launch({
  executablePath: job.chromium,
  headless: true,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
try {
  const context = await browser.newContext({ viewport: job.viewport ?? { width: 1280, height: 800 } });
  const requests: string[] = [];
  const complaints: string[] = [];
  context.on("request", (request) => requests.push(request.url()));
  context.on("weberror", (error) => complaints.push(String(error.error())));
  await context.exposeFunction("reportViolation", (text: string) => complaints.push(text));
  await context.addInitScript(() => {
    const report = (globalThis as unknown as { reportViolation(text: string): void }).reportViolation;
    document.addEventListener("securitypolicyviolation", (event) =>
      report(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (/Content Security Policy/i.test(message.text())) complaints.push(message.text());
  });
  const outcome = await scenarios[process.argv[2]!]!({ browser, context, page, home: job.home, job });
  const { origin } = new URL(job.home);
  const offOrigin = requests.filter((url) => new URL(url).origin !== origin);
  process.stdout.write(JSON.stringify({ outcome, offOrigin, complaints, requests: requests.length }));
} finally {
  await browser.close();
}
