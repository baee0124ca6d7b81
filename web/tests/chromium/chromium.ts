/**
 * Runs one scenario in a real Chromium and prints what came of it, for the Python tests: `node build/chromium.js
 * NAME`.
 *
 * The standard input is JSON: {"dist": …, "model": …, "chromium": …, and what the scenario asks for}.
 */

import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { type Page, chromium } from "playwright-core";
import { scenarios } from "./scenarios";
import { serve } from "./server";

const job = JSON.parse(await text(process.stdin));
const elsewhere = await serve(job);
const site = await serve(job, {
  plain: { head: "" },
  isolated: { head: "" },
  script: { head: '<script src="/dist/qna.js"></script>' },
  foreign: { head: `<script src="${elsewhere.home}dist/qna.js"></script>`, trusts: elsewhere.home },
});
const browser = await chromium.launch({
  executablePath: job.chromium,
  headless: true,
  args: [
    "--no-sandbox",
    // WebGPU by software: headless there is no graphics processor.
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--enable-features=Vulkan",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
try {
  const context = await browser.newContext();
  const requests: string[] = [];
  const violations: string[] = [];
  context.on("request", (request) => requests.push(request.url()));
  await context.exposeFunction("reportViolation", (text: string) => violations.push(text));
  await context.addInitScript(() => {
    const report = (globalThis as unknown as { reportViolation(text: string): void }).reportViolation;
    document.addEventListener("securitypolicyviolation", (event) =>
      report(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  const visit = async (name: string): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(`${site.home}${name}`);
    return page;
  };
  const memory = async () => {
    const session = await browser.newBrowserCDPSession();
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    const statuses = processInfo
      .filter(({ type }) => type === "renderer")
      .map(({ id }) => readFileSync(`/proc/${id}/status`, "utf8"));
    return statuses.reduce((sum, status) => sum + Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024, 0);
  };
  const outcome = await scenarios[process.argv[2]!]!({ visit, memory, job });
  const homes = [site.home, elsewhere.home, `blob:${site.home}`];
  const offOrigin = requests.filter((url) => !homes.some((home) => url.startsWith(home)));
  process.stdout.write(JSON.stringify({ outcome, offOrigin, violations, requests }));
} finally {
  await browser.close();
  site.close();
  elsewhere.close();
}
