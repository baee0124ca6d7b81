/** What somebody does with the page and sees of it, for the scenarios. */

import type { Browser, Page } from "playwright-core";

type State = "loading" | "ready" | "opening" | "reading" | "answered" | "none" | "stopped" | "error";

/** Wait until the page is in one of some states, and say in which. */
export async function reached(page: Page, ...states: State[]): Promise<string> {
  const selector = states.map((state) => `#state[data-state="${state}"]`).join(", ");
  const found = await page.waitForSelector(selector, { state: "attached", timeout: 120_000 });
  return (await found.getAttribute("data-state"))!;
}

export async function visited(page: Page, home: string): Promise<void> {
  await page.goto(home);
  await reached(page, "ready");
}

/** Paste into the sheet, as the clipboard of another program would have it. */
export async function paste(page: Page, data: Record<string, string>): Promise<void> {
  await page.evaluate((data) => {
    const transfer = new DataTransfer();
    for (const [type, text] of Object.entries(data)) transfer.setData(type, text);
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
  }, data);
  await page.waitForSelector("#paper:not([hidden])");
}

/** Drop a file on the page. */
export async function drop(page: Page, file: { name: string; base64: string }): Promise<void> {
  await page.evaluate(({ name, base64 }) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name));
    for (const type of ["dragenter", "drop"])
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, file);
}

export async function ask(page: Page, question: string): Promise<string> {
  await page.fill("#question", question);
  await page.press("#question", "Enter");
  return reached(page, "answered", "none", "error");
}

export interface Seen {
  state: string;
  headline: string;
  detail: string;
  /** What is marked as the answer, what else is, and the block in which the answer stands. */
  marked: string[];
  others: string[];
  block: string;
  /** Whether all of the answer is in sight, and below the question where that is at the top. */
  inSight: boolean;
  listed: string[];
  live: string;
}

/** What there is to see. */
export async function seen(page: Page): Promise<Seen> {
  await page.evaluate(async () => {
    const place = () => {
      const answer = "highlights" in CSS ? [...(CSS.highlights.get("answer") ?? [])][0] : document.querySelector("mark.answer");
      return answer ? (answer as Range | Element).getBoundingClientRect().top : 0;
    };
    // Until it has scrolled there: for half a second it stands still.
    for (let still = 0, tries = 0, before = place(); still < 5 && tries < 100; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      still = place() === before ? still + 1 : 0;
      before = place();
    }
  });
  return page.evaluate(() => {
    const text = (id: string) => document.getElementById(id)!.textContent!;
    const native = "highlights" in CSS;
    const ranges = (name: string) => (native ? ([...(CSS.highlights.get(name) ?? [])] as Range[]) : []);
    const marks = (name: string) =>
      native ? ranges(name).map(String) : [...document.querySelectorAll(`mark.${name}`)].map((mark) => mark.textContent!);
    const place: Range | Element | null = native ? (ranges("answer")[0] ?? null) : document.querySelector("mark.answer");
    const node = place instanceof Range ? place.startContainer.parentElement : place?.parentElement;
    const box = place?.getBoundingClientRect();
    const panel = document.querySelector(".ask")!.getBoundingClientRect();
    const top = panel.width > 0.8 * innerWidth ? panel.bottom : 0;
    return {
      state: document.getElementById("state")!.dataset["state"]!,
      headline: text("headline"),
      detail: text("detail"),
      marked: marks("answer"),
      others: marks("other"),
      block: node?.textContent ?? "",
      inSight: !!box && box.top >= top && box.bottom <= innerHeight && box.width > 0,
      listed: [...document.querySelectorAll("#answers .words")].map((words) => words.textContent!),
      live: text("live"),
    };
  });
}

/** Milliseconds of processor time that the page's own thread took while some work was done. */
export interface Busy {
  total: number;
  longest: number; // of a single task
}

export async function busy(browser: Browser, page: Page, work: () => Promise<unknown>): Promise<Busy> {
  await browser.startTracing(page, { categories: ["toplevel"] });
  await work();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const mains = new Set(
    trace.traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = trace.traceEvents.filter(
    ({ name, pid, tid, tdur }) => tdur !== undefined && name.endsWith("RunTask") && mains.has(`${pid} ${tid}`),
  );
  if (!tasks.length) throw new Error("the trace holds no task of the page");
  const times = tasks.map(({ tdur }) => tdur! / 1000);
  return { total: times.reduce((sum, time) => sum + time, 0), longest: Math.max(...times) };
}

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  tdur?: number;
  args?: { name?: string };
}
