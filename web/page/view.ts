/**
 * A text on the sheet: an element for every block, made a few at a time, and marks on parts of them.
 *
 * Marks are Custom Highlights, which leave the elements alone; where a browser has none, `<mark>` elements.
 */

import { Breath } from "./breathe";
import type { Content, Placed, Stretch } from "./content";

/** "answer" is the one that is looked at, "other" the further ones. */
export type Mark = "answer" | "other";

export interface Marked {
  mark: Mark;
  start: number;
  end: number;
}

const SECTION = 12_000; // characters whose layout the browser may put off until they come into sight

export class View {
  private content: Content | null = null;
  private elements: HTMLElement[] = [];
  private touched = new Set<number>();
  private showing = new AbortController();

  constructor(private readonly paper: HTMLElement) {}

  /** Show a text in the place of the one before. */
  async show(content: Content): Promise<void> {
    this.clear();
    this.content = content;
    const { signal } = this.showing;
    const breath = new Breath();
    let section: HTMLElement | null = null;
    let held = 0;
    for (const block of content.blocks) {
      if (!section || held + block.text.length > SECTION) {
        // A section enters the page with its blocks in it: to add them one by one would lay it out as often.
        if (section) this.paper.append(section);
        if (breath.due) await breath.take(signal);
        section = document.createElement("div");
        section.className = "section";
        held = 0;
      }
      const element = elementOf(block);
      this.elements.push(element);
      section.append(element);
      held += block.text.length;
    }
    if (section) this.paper.append(section);
  }

  /** Remove the text. */
  clear(): void {
    this.showing.abort();
    this.showing = new AbortController();
    this.unmark();
    this.paper.replaceChildren();
    this.elements = [];
    this.content = null;
  }

  /** Mark some stretches of the text, and nothing else. */
  mark(marks: readonly Marked[]): void {
    this.unmark();
    const { content } = this;
    if (!content) return;
    const placed = marks.flatMap(({ mark, start, end }) =>
      content.stretches(start, end).map((stretch) => ({ mark, ...stretch })),
    );
    if (hasHighlights()) {
      for (const name of ["other", "answer"] as const) {
        const ranges = placed.filter(({ mark }) => mark === name).map((stretch) => this.range(stretch));
        const highlight = new Highlight(...ranges);
        highlight.priority = name === "answer" ? 1 : 0;
        CSS.highlights.set(name, highlight);
      }
      return;
    }
    for (const block of new Set(placed.map((stretch) => stretch.block))) {
      this.wrap(block, placed.filter((stretch) => stretch.block === block));
      this.touched.add(block);
    }
  }

  unmark(): void {
    if (hasHighlights()) for (const name of ["other", "answer"]) CSS.highlights.delete(name);
    for (const block of this.touched) this.elements[block]!.textContent = this.content!.blocks[block]!.text;
    this.touched.clear();
  }

  /** Bring a stretch of the text into sight, below `top` and above `bottom` pixels that other things cover. */
  scrollTo(start: number, end: number, covered: { top: number; bottom: number }): void {
    const stretch = this.content?.stretches(start, end)[0];
    const element = stretch && this.elements[stretch.block];
    if (!element) return;
    const place = () => (hasHighlights() ? this.range(stretch) : (element.querySelector("mark.answer") ?? element));
    const into = (behavior: ScrollBehavior) => {
      const { top, bottom } = place().getBoundingClientRect();
      const [first, last] = [covered.top + 24, innerHeight - covered.bottom - 24];
      if (top >= first && bottom <= last) return;
      scrollBy({ top: top - (first + (last - first) * 0.3), behavior });
    };
    // Blocks out of sight have only a guessed height; once the browser has been there, it knows better.
    if (Math.abs(element.getBoundingClientRect().top) > 3 * innerHeight) {
      element.scrollIntoView({ block: "center", behavior: "instant" });
      into("instant");
      requestAnimationFrame(() => into("instant"));
    } else into(matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth");
  }

  private range({ block, from, to }: Stretch): Range {
    const range = document.createRange();
    const text = this.elements[block]!.firstChild!;
    range.setStart(text, from);
    range.setEnd(text, to);
    return range;
  }

  private wrap(block: number, stretches: readonly (Stretch & { mark: Mark })[]): void {
    const { text } = this.content!.blocks[block]!;
    const parts: (string | HTMLElement)[] = [];
    let place = 0;
    for (const { from, to, mark } of [...stretches].sort((a, b) => a.from - b.from)) {
      if (from < place) continue; // inside the one before
      const element = document.createElement("mark");
      element.className = mark;
      element.textContent = text.slice(from, to);
      parts.push(text.slice(place, from), element);
      place = to;
    }
    this.elements[block]!.replaceChildren(...parts, text.slice(place));
  }
}

function hasHighlights(): boolean {
  return typeof Highlight !== "undefined" && typeof CSS !== "undefined" && "highlights" in CSS;
}

function elementOf({ kind, level, text, gap }: Placed): HTMLElement {
  // The sheet's own headings end with the second, so a text's begin with the third.
  const tag = { paragraph: "p", heading: `h${Math.min(6, Math.max(3, level + 1))}`, item: "p", row: "p", code: "pre" }[kind];
  const element = document.createElement(tag);
  element.className = gap ? kind : `${kind} continued`;
  if (kind === "heading" || kind === "item") element.dataset["level"] = String(Math.min(level, 4));
  element.dir = "auto";
  element.textContent = text;
  return element;
}
