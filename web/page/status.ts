/** What the page says of itself: one state at a time, each with a look of its own, and said aloud when it matters. */

import type { Result } from "../src/index";
import { percent } from "./answers";

export type State = "loading" | "ready" | "opening" | "reading" | "answered" | "none" | "stopped" | "error";

export function element<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

export function plural(count: number, word: string): string {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

export function bytesOf(count: number): string {
  return `${(count / 1e6).toFixed(1)} MB`;
}

interface Look {
  headline: string;
  detail?: string;
  /** How far it is: 0 to 1; null while nobody knows; not given if it makes no sense. */
  share?: number | null;
  action?: { label: string; does: "retry" | "all" };
}

export class Status {
  private timer = 0;

  /** Fetching the model. */
  loading(loaded: number, total: number): void {
    this.show("loading", {
      headline: "Getting the reader ready",
      detail: total ? `${bytesOf(loaded)} of ${bytesOf(total)}, once` : "",
      share: total ? loaded / total : null,
    });
  }

  /** The model is there and is being opened. */
  warming(): void {
    this.show("loading", { headline: "Getting the reader ready", detail: "Nearly there", share: null });
  }

  ready(hasText: boolean): void {
    this.show("ready", {
      headline: "Ready",
      detail: hasText ? "Ask, and the words are marked where they stand." : "Choose something to read first.",
    });
    this.say("Ready.");
  }

  opening(name: string, pages: number, of: number): void {
    this.show("opening", { headline: `Opening ${name}`, detail: `${pages} of ${plural(of, "page")}`, share: pages / of });
  }

  reading(windows: number, of: number): void {
    const first = element("state").dataset["state"] !== "reading";
    this.show("reading", {
      headline: "Reading",
      detail: of ? `${plural(windows, "part")} of ${of.toLocaleString("en")}, the most promising first` : "Looking it through",
      share: of ? windows / of : null,
    });
    if (first) this.say("Reading. Escape stops it.");
  }

  answered({ read }: Result, places: number): void {
    const rest = read.of - read.windows;
    this.show("answered", {
      headline: places === 1 ? "Found" : `Found, in ${places} places`,
      detail: rest
        ? `${plural(read.windows, "part")} of ${read.of.toLocaleString("en")} read; the others are unlikely to hold more.`
        : "All of the text was read.",
      ...(rest ? { action: { label: "Read the rest too", does: "all" } as const } : {}),
    });
  }

  none({ read, noAnswer }: Result): void {
    const all = read.of === 1 ? "All of it was read" : `All ${plural(read.of, "part")} of it were read`;
    this.show("none", {
      headline: "Not on this page",
      detail: `${all}. Probability that the answer is not here: ${percent(noAnswer)}.`,
    });
    this.say(`Not on this page. Probability ${percent(noAnswer)}.`);
  }

  stopped(): void {
    this.show("stopped", { headline: "Stopped", detail: "Not all was read, so there is no answer yet. Ask again to go on." });
    this.say("Stopped.");
  }

  failed(headline: string, error: Error, retry?: string): void {
    this.show("error", {
      headline,
      detail: sentence(error.message || String(error)),
      ...(retry ? { action: { label: retry, does: "retry" } as const } : {}),
    });
    element("alert").textContent = `${headline}. ${error.message}`;
  }

  /** Say something to those who listen instead of looking. */
  say(words: string): void {
    clearTimeout(this.timer);
    // What changes too soon after something else is passed over by screen readers.
    this.timer = window.setTimeout(() => (element("live").textContent = words), 120);
  }

  private show(state: State, { headline, detail, share, action }: Look): void {
    const place = element("state");
    place.dataset["state"] = state;
    if (state !== "error") element("alert").textContent = "";
    set(element("headline"), headline);
    set(element("detail"), detail ?? "");
    const progress = element<HTMLProgressElement>("progress");
    progress.hidden = share === undefined;
    if (share === null) progress.removeAttribute("value");
    else if (share !== undefined) progress.value = share;
    const button = element("action");
    button.hidden = !action;
    set(button, action?.label ?? "");
    button.dataset["does"] = action?.does ?? "";
    element("stop").hidden = state !== "reading";
    element("go").hidden = state === "reading";
  }
}

function set(place: HTMLElement, text: string): void {
  if (place.textContent !== text) place.textContent = text;
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
