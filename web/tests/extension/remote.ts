/**
 * A Chromium with the extension that another program drives, line by line: `node build/extension.js CHROMIUM FOLDER`.
 *
 * Each line of the input is {"do": NAME, …}; each gets a line {"done": VALUE} or {"failed": MESSAGE}.
 */

import { writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Browser, pause } from "./browser";
import type { Served } from "./site";

const browser = await Browser.open(process.argv[2]!, process.argv[3]!);

const STATE = `(() => {
  const root = document.querySelector("#outcome");
  const texts = (selector) => [...root.querySelectorAll(selector)].map((element) => element.textContent);
  const current = [...root.querySelectorAll(".answer")].findIndex((card) => card.hasAttribute("aria-current"));
  return {
    kind: root.dataset.kind, headline: texts(".headline")[0] ?? "", details: texts(".details p"),
    words: texts(".words"), sentences: texts(".sentence"), marked: texts("mark"), scores: texts(".percent"),
    place: texts(".place")[0] ?? null, buttons: texts(".action"), current,
    status: document.querySelector("#status").textContent, page: document.querySelector("#page").textContent,
    question: document.querySelector("#question").value,
    focus: document.activeElement.id || document.activeElement.className,
  };
})()`;

/** What a line may say, besides what to do; each action needs some of it. */
interface Line extends Served {
  do: string;
  path: string;
  host: string;
  number: number;
  text: string;
  key: string;
  shift: boolean;
  expression: string;
  method: string;
  params: object;
  kinds: string[];
  seconds: number;
  of: "page" | "panel";
  width: number;
  height: number;
  dark: boolean;
}

const actions: Record<string, (line: Line) => Promise<unknown>> = {
  serve: async (line) => void browser.site.pages.set(line.path, line),
  visit: async ({ path, host }) => {
    const site = host === "localhost" ? "http://localhost" : "http://127.0.0.1"; // the same pages, but two origins
    await browser.page.goto(path.includes(":") ? path : `${site}:${browser.site.port}${path}`);
  },
  newTab: async () => void (browser.page = await browser.context.newPage()),
  front: async ({ number }) => {
    browser.page = browser.context.pages()[number]!;
    await browser.page.bringToFront();
  },
  click: () => browser.click(),
  closePanel: () => browser.closePanel(),
  type: ({ text }) => browser.panel!.type(text),
  press: ({ key, shift }) => browser.panel!.press(key, shift),
  button: ({ text }) => {
    const found = `find((button) => button.textContent === ${JSON.stringify(text)})`;
    return browser.panel!.evaluate(`[...document.querySelectorAll("#outcome button")].${found}.click()`);
  },
  state: () => browser.panel!.evaluate(STATE),
  panel: ({ expression }) => browser.panel!.evaluate(expression),
  protocol: ({ method, params }) => browser.panel!.send(method, params),
  page: ({ expression }) => browser.page.evaluate(expression),
  coloured: () => browser.coloured(),
  targets: () => browser.targets(),
  isInView: () => browser.isInView(),
  complaints: async () => ({ panel: browser.panel?.complaints ?? [], asked: browser.proxy.asked }),
  /** Wait until the panel is in one of some states. */
  until: async ({ kinds, seconds }) => {
    for (const end = Date.now() + 1000 * seconds; Date.now() < end; await pause(20)) {
      const state = (await browser.panel!.evaluate(STATE)) as { kind: string };
      if (kinds.includes(state.kind)) return state;
    }
    const state = JSON.stringify(await browser.panel!.evaluate(STATE));
    throw new Error(`the panel is not ${kinds.join(" or ")}, but ${state}`);
  },
  picture: async ({ path, of, width, height, dark }) => {
    if (of === "page") return void (await browser.page.screenshot({ path: path }));
    const panel = browser.panel!;
    const size = { width: width, height: height, deviceScaleFactor: 1, mobile: false };
    await panel.send("Emulation.setDeviceMetricsOverride", size);
    const features = [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }];
    await panel.send("Emulation.setEmulatedMedia", { features });
    const { data } = await panel.send("Page.captureScreenshot", { format: "png" });
    await writeFile(path, Buffer.from(data as string, "base64"));
  },
};

process.stdout.write(`${JSON.stringify({ done: "ready" })}\n`);
for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text) as Line;
  const answer = await actions[line.do]!(line).then(
    (value) => ({ done: value ?? null }),
    (error: Error) => ({ failed: error.message }),
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
