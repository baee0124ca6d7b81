/** A real Chromium with the extension in it: pages, the click on the icon, the panel, and what is coloured. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, type CDPSession, type Page, chromium } from "playwright-core";
import { Panel } from "./panel";
import { Proxy, Site } from "./site";

const PATIENCE = 15_000; // milliseconds
const ROUNDS = 300;
const CLICKED_AGAIN = 20;

export class Browser {
  panel: Panel | undefined;

  private constructor(
    readonly context: BrowserContext,
    private readonly browser: CDPSession,
    readonly id: string,
    readonly site: Site,
    readonly proxy: Proxy,
    private readonly profile: string,
    public page: Page,
  ) {}

  static async open(executablePath: string, extension: string): Promise<Browser> {
    const [site, proxy] = [await Site.open(), await Proxy.open()];
    const profile = await mkdtemp(join(tmpdir(), "pocketbert-"));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath,
      headless: true,
      viewport: null,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1280,860",
        `--proxy-server=127.0.0.1:${proxy.port}`,
        `--load-extension=${extension}`,
        `--disable-extensions-except=${extension}`,
      ],
    });
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
    const session = await context.browser()!.newBrowserCDPSession();
    const id = new URL(worker.url()).host;
    return new Browser(context, session, id, site, proxy, profile, context.pages()[0]!);
  }

  async close(): Promise<void> {
    await this.context.close();
    this.site.close();
    this.proxy.close();
    await rm(this.profile, { recursive: true, force: true });
  }

  /** Click the extension's icon while the page is in front; the panel opens, or is there already. */
  async click(): Promise<void> {
    await this.page.bringToFront();
    const targetId = await this.tabOf(this.page);
    const click = () => this.browser.send("Extensions.triggerAction" as never, { id: this.id, targetId } as never);
    await click();
    for (let round = 1; round < ROUNDS; round++, await pause(50)) {
      const target = await this.panelTarget();
      if (!target) {
        if (round % CLICKED_AGAIN === 0) await click(); // the extension's worker may not have been up yet
        continue;
      }
      if (!target.attached || !this.panel) this.panel = await Panel.attach(this.browser, target.targetId);
      if (await this.panel.evaluate(`document.querySelector("#outcome")?.dataset.kind ?? null`)) return;
    }
    throw new Error("the click did not open the panel");
  }

  /** Close the panel, as its cross does. */
  async closePanel(): Promise<void> {
    await this.panel!.send("Runtime.evaluate", { expression: "window.close()" });
    for (const end = Date.now() + PATIENCE; Date.now() < end; await pause(50))
      if (!(await this.panelTarget())) {
        this.panel = undefined;
        return;
      }
    throw new Error("the panel did not close");
  }

  /** The words in each colour, frame by frame; one entry per range. */
  async coloured(): Promise<Record<string, string[]>> {
    const found: Record<string, string[]> = { current: [], others: [] };
    for (const frame of this.page.frames())
      for (const [name, highlight] of [
        ["current", "pocketbert-answer"],
        ["others", "pocketbert-others"],
      ] as const)
        found[name]!.push(
          ...(await frame.evaluate(
            (highlight) => [...(CSS.highlights.get(highlight) ?? [])].map((range) => (range as Range).toString()),
            highlight,
          )),
        );
    return found;
  }

  /** Whether the coloured words are in the window now. */
  async isInView(): Promise<boolean> {
    return this.page.evaluate(() => {
      const [range] = [...CSS.highlights.get("pocketbert-answer")!] as Range[];
      const { top, bottom } = range!.getBoundingClientRect();
      return top >= 0 && bottom > top && bottom <= innerHeight;
    });
  }

  /** The addresses of all that runs: pages, panels, workers. */
  async targets(): Promise<string[]> {
    const { targetInfos } = await this.browser.send("Target.getTargets", { filter: [{}] });
    return targetInfos.map(({ url }) => url);
  }

  private async panelTarget(): Promise<{ targetId: string; attached: boolean } | undefined> {
    const { targetInfos } = await this.browser.send("Target.getTargets");
    return targetInfos.find(({ url }) => url === `chrome-extension://${this.id}/panel.html`);
  }

  /** The tab around a page: it is the tab that an icon is clicked for. */
  private async tabOf(page: Page): Promise<string> {
    const { targetInfos } = await this.browser.send("Target.getTargets", { filter: [{ type: "tab" }] });
    const tabs = targetInfos.filter(({ url }) => url === page.url());
    if (tabs.length !== 1) throw new Error(`${tabs.length} tabs show ${page.url()}; it must be one`);
    return tabs[0]!.targetId;
  }
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
