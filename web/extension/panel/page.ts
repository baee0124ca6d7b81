/** One tab's page, as the panel sees it: asked for its text, and told what to colour. */

import type { PageCalls, PageReport, Stretch } from "../page/calls";
import type { Refusal } from "./state";

/** A page that cannot be read, and why. */
export class Refused extends Error {
  constructor(readonly refusal: Refusal) {
    super(`the page cannot be read: ${refusal.kind}`);
  }
}

const OPEN = /^(?:https?|file|ftp|blob|data):/;

export class TabPage {
  /** Whether the icon was clicked for what is in the tab now: who is refused even then will not be let in by a click. */
  invited = false;
  private documentId: string | undefined;
  private line: chrome.Port | undefined;

  constructor(private readonly tabId: number) {}

  /** Whether the page may be read, as far as can be told without touching it: null if so. */
  async refusal(): Promise<Refusal | null> {
    const { url } = await chrome.tabs.get(this.tabId).catch((): chrome.Tab => ({ windowId: 0 }));
    if (url !== undefined) return OPEN.test(url) ? null : { kind: "forbidden" };
    // Chrome hides the address, and refuses whatever is tried; how it refuses tells the two reasons apart.
    const refusal = await chrome.scripting
      .executeScript({ target: { tabId: this.tabId, frameIds: [0] }, func: () => null, args: [] })
      .then(() => null, reason);
    return refusal?.kind === "closed" && this.invited ? { kind: "forbidden" } : refusal;
  }

  /** The text of the page as it is now. */
  async read(): Promise<PageReport> {
    const refusal = await this.refusal();
    if (refusal) throw new Refused(refusal);
    const target = { tabId: this.tabId, frameIds: [0] };
    let report: PageReport;
    try {
      const [put] = await chrome.scripting.executeScript({ target, injectImmediately: true, files: ["page.js"] });
      this.documentId = put!.documentId;
      report = await this.call("read");
    } catch (error) {
      // The page was open to us a moment ago.
      throw new Refused(reason(error as Error).kind === "closed" ? { kind: "forbidden" } : reason(error as Error));
    }
    if (report.kind === "application/pdf") throw new Refused({ kind: "pdf" });
    if (!report.text) throw new Refused({ kind: "empty", closedFrames: report.closedFrames });
    this.line?.disconnect();
    this.line = chrome.tabs.connect(this.tabId, { frameId: 0 });
    return report;
  }

  /** Whether the document that was read last is still the one in the tab. */
  async isThere(): Promise<boolean> {
    if (!this.documentId) return false;
    const target = { tabId: this.tabId, documentIds: [this.documentId] };
    return chrome.scripting.executeScript({ target, injectImmediately: true, func: () => null, args: [] }).then(
      () => true,
      () => false,
    );
  }

  /** Colour stretches of the text that was read last; "changed" if they are not there any more. */
  async show(stretches: readonly Stretch[], current: number): Promise<"shown" | "changed"> {
    return this.call("show", stretches, current).catch(() => "changed" as const);
  }

  async clear(): Promise<void> {
    if (this.documentId) await this.call("clear").catch(() => undefined); // a page that is gone is clear
  }

  /** Call the script in the very document that was read: another one in the same tab has other text. */
  private async call<N extends keyof PageCalls>(
    name: N,
    ...values: Parameters<PageCalls[N]>
  ): Promise<Awaited<ReturnType<PageCalls[N]>>> {
    const [done] = await chrome.scripting.executeScript({
      target: { tabId: this.tabId, documentIds: [this.documentId!] },
      injectImmediately: true,
      func: (name: string, values: unknown[]) =>
        (globalThis.pocketbertPage as unknown as Record<string, (...values: unknown[]) => unknown>)[name]!(...values),
      args: [name, values],
    });
    return done!.result as Awaited<ReturnType<PageCalls[N]>>;
  }
}

function reason({ message }: Error): Refusal {
  return { kind: /must request permission/.test(message) ? "closed" : "forbidden" };
}
