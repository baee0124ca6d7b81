/** What is tried with the page. */

import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { ask, busy, drop, paste, reached, seen, visited } from "./page-hands";

interface Job {
  text: string;
  question: string;
  questions: string[];
  /** A file to write when the page is kept; it vanishes once a new version is served. */
  flag: string;
  file: { name: string; base64: string };
}

export interface Stage {
  browser: Browser;
  context: BrowserContext;
  page: Page;
  home: string;
  job: Job;
}

export const scenarios: Record<string, (stage: Stage) => Promise<unknown>> = {
  /** An example is chosen and its questions are clicked; the last has no answer. */
  async example({ page, home, context }) {
    await visited(page, home);
    await page.click("#examples button >> nth=0");
    const views = [];
    for (const number of [1, 3]) {
      const button = page.locator("#suggestions button").nth(number);
      const question = await button.textContent();
      await button.click();
      await page.waitForFunction(() => document.getElementById("state")!.dataset["state"] !== "ready");
      await reached(page, "answered", "none");
      views.push({ question, ...(await seen(page)) });
    }
    return { views, isolated: await page.evaluate(() => crossOriginIsolated), pages: context.pages().length };
  },

  /** Questions to a text that is pasted. */
  async questions({ page, home, job }) {
    await visited(page, home);
    await paste(page, { "text/plain": job.text });
    const views = [];
    for (const question of job.questions) {
      await ask(page, question);
      views.push(await seen(page));
      await page.press("#question", "Escape");
    }
    return { views, shown: await page.locator("#paper").innerText() };
  },

  /** The same without Custom Highlights. */
  async fallback({ page, home, job }) {
    await page.addInitScript(() => {
      delete (CSS as { highlights?: unknown }).highlights;
      delete (globalThis as { Highlight?: unknown }).Highlight;
    });
    await visited(page, home);
    await paste(page, { "text/plain": job.text });
    await ask(page, job.question);
    const first = await seen(page);
    await page.press("#question", "Enter");
    const second = await seen(page);
    await page.press("#question", "Escape");
    return { first, second, left: await page.locator("mark").count(), shown: await page.locator("#paper").innerText() };
  },

  /** A file is dropped. */
  async dropped({ page, home, job }) {
    await visited(page, home);
    await drop(page, job.file);
    await page.waitForSelector("#paper:not([hidden]), #state[data-state=error]", { state: "attached" });
    const about = await page.locator("#about").textContent();
    if ((await page.getAttribute("#state", "data-state")) === "error") return { about, ...(await seen(page)) };
    await ask(page, job.question);
    const shown = await page.locator("#paper").innerText();
    return { about, shown, title: await page.title(), ...(await seen(page)) };
  },

  /** A very long text: the page stays free while it is taken, shown, read and searched. */
  async long({ browser, page, home, job }) {
    await visited(page, home);
    await page.evaluate((text) => Object.assign(globalThis, { copied: text }), job.text);
    const taking = await busy(browser, page, async () => {
      await page.evaluate(() => {
        const transfer = new DataTransfer();
        transfer.setData("text/plain", (globalThis as unknown as { copied: string }).copied);
        document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true }));
      });
      await page.waitForFunction(() => document.querySelectorAll(".section").length > 40);
    });
    const reading = await busy(browser, page, () => ask(page, job.question));
    return { taking, reading, ...(await seen(page)), about: await page.locator("#about").textContent() };
  },

  /** Reading is stopped by the key, by the button, and by another question. */
  async cancel({ page, home, job }) {
    await visited(page, home);
    await paste(page, { "text/plain": job.text });
    const begin = async () => {
      await page.fill("#question", job.question);
      await page.press("#question", "Enter");
      await reached(page, "reading");
    };
    await begin();
    const during = await seen(page);
    await page.keyboard.press("Escape");
    await reached(page, "stopped");
    const stopped = await seen(page);
    await begin();
    await page.click("#stop");
    const again = await reached(page, "stopped");
    const focused = await page.evaluate(() => document.activeElement!.id);
    await begin();
    await page.click("#another");
    await paste(page, { "text/plain": "There is gold here." });
    await ask(page, "What is here?");
    return { during, stopped, again, focused, last: await seen(page) };
  },

  /** Everything without a mouse. */
  async keyboard({ page, home, job }) {
    await visited(page, home);
    const order = [];
    for (let press = 0; press < 6; press++) {
      await page.keyboard.press("Tab");
      order.push(await page.evaluate(() => document.activeElement!.id || document.activeElement!.className));
    }
    await page.keyboard.press("Escape");
    await page.focus("#draft");
    await page.keyboard.insertText(job.text);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement!.id !== "use"); // the text is taken in short tasks
    const focused = await page.evaluate(() => document.activeElement!.id);
    await page.keyboard.type(job.question);
    await page.keyboard.press("Enter");
    await reached(page, "answered");
    const current = async () => (await seen(page)).marked[0];
    const walk = [await current()];
    for (const key of ["Enter", "Shift+Enter"]) {
      await page.keyboard.press(key);
      walk.push(await current());
    }
    await page.focus("#paper");
    for (const key of ["n", "p"]) {
      await page.keyboard.press(key);
      walk.push(await current());
    }
    await page.keyboard.press("?");
    const help = await page.locator("#keys").isVisible();
    await page.keyboard.press("Escape");
    await page.focus("#paper");
    await page.keyboard.press("/");
    const question = await page.evaluate(() => document.activeElement!.id);
    const labels = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLInputElement>("button, input, textarea")]
        .filter((each) => !each.hidden && !(each.labels?.length || each.ariaLabel || each.textContent!.trim()))
        .map((each) => each.id),
    );
    return { order, focused, walk, help, question, labels, live: (await seen(page)).live };
  },

  /** A phone: nothing sticks out to the side, in any state. */
  async phone({ page, home, job }) {
    const widths: number[] = [];
    const measure = async () => widths.push(await page.evaluate(() => document.documentElement.scrollWidth));
    await page.goto(home);
    await measure();
    await reached(page, "ready");
    await measure();
    await paste(page, { "text/plain": `${job.text}\n\n${"longword".repeat(60)}` });
    await measure();
    await ask(page, job.question);
    const view = await seen(page);
    await measure();
    await ask(page, "zzz ".repeat(40));
    await measure();
    return { widths, view };
  },

  /** After one visit the page works, all of it, without its server. */
  async offline({ context, page, home, job }) {
    await visited(page, home);
    await page.waitForFunction(() => document.getElementById("offline")!.textContent!.includes("without a network"));
    const caches = await page.evaluate(() => globalThis.caches.keys());
    await context.setOffline(true);
    await page.reload();
    await reached(page, "ready");
    await drop(page, job.file);
    await page.waitForSelector("#paper:not([hidden])");
    await ask(page, job.question);
    return { ...(await seen(page)), caches, controlled: await page.evaluate(() => !!navigator.serviceWorker.controller) };
  },

  /** A new version is put up while a tab is open: that tab goes on with its own, the next one has the new one. */
  async renewed({ context, page, home, job }) {
    const kept = (tab: Page) =>
      tab.waitForFunction(() => document.getElementById("offline")!.textContent!.includes("without a network"));
    const title = (tab: Page) => tab.locator("h1").textContent();
    await visited(page, home);
    await kept(page);
    await writeFile(job.flag, "");
    while (existsSync(job.flag)) await page.waitForTimeout(50);
    await page.reload();
    await reached(page, "ready", "error");
    await kept(page);
    const old = { state: await page.getAttribute("#state", "data-state"), title: await title(page) };
    await page.close();
    const tab = await context.newPage();
    await visited(tab, home);
    await kept(tab);
    await tab.waitForFunction(async () => (await caches.keys()).length === 1);
    return { old, next: { state: await tab.getAttribute("#state", "data-state"), title: await title(tab) } };
  },

  /** A visit to a page that cannot work. */
  async broken({ page, home }) {
    await page.goto(home);
    await reached(page, "error", "ready");
    return { ...(await seen(page)), alert: await page.locator("#alert").textContent(), retry: await page.locator("#action").isVisible() };
  },
};
