/**
 * HTML to blocks: what a person would read of it.
 *
 * The page is parsed into a document that is never shown: no script of it runs, and nothing that it names is loaded.
 */

import { Breath, breathe } from "../breathe";
import { type Block, Content, type Kind } from "../content";

const names = (text: string) => new Set(text.split(" "));

const NOT_TEXT = names(
  "audio button canvas datalist embed head iframe input link meta meter noframes noscript object optgroup option output " +
    "progress rp script select style svg template textarea title track video",
);
const WITHIN_LINE = names(
  "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark math nobr picture q rb rt ruby " +
    "s samp slot small span strike strong sub sup time tt u var wbr",
);
const LISTS = names("ul ol menu dir");
const BESIDE = "nav, aside, footer, [role=navigation], [role=complementary], [role=contentinfo], [role=banner], [role=search]";
const ENOUGH = 0.3; // of a page's text: a part with less is not what the page is about
const HIDING = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))/i;

export async function fromHtml(source: string, form = "Web page"): Promise<Content> {
  const plain = tamed(source);
  await breathe(); // parsing cannot be divided, so it should be alone
  const page = new DOMParser().parseFromString(plain, "text/html");
  await breathe();
  const title = clean(page.title || page.querySelector("h1")?.textContent || "");
  const writer = new Writer();
  await walk(articleOf(page), writer);
  return Content.of(writer.finish(), { title, form });
}

/**
 * The same page with its styles, its handlers and its base under other names: this page's policy allows none but its
 * own, and the browser would complain about every one of them. To a parser `noframes` is what `style` is, and `meta`
 * what `base` is.
 */
function tamed(source: string): string {
  return source
    .replace(/<(\/?)style(?=[\s>/])/gi, "<$1noframes")
    .replace(/<base(?=[\s>/])/gi, "<meta")
    .replace(/<[a-z][^<>]*/gi, (tag) => tag.replace(/([\s"'/])(style|on[a-z]+)(?=\s*=)/gi, "$1data-$2"));
}

/** The part that the page's author marked as its own, if it holds a fair share; else all but menus and the like. */
function articleOf(page: Document): { root: Element; beside: boolean } {
  const all = page.body.textContent.length;
  const marked = [...page.querySelectorAll("main, [role=main], article")]
    .map((element) => ({ element, size: element.textContent.length }))
    .filter(({ size }) => size >= ENOUGH * all);
  const most = Math.max(0, ...marked.map(({ size }) => size));
  // Of those that hold nearly all of it, the innermost.
  const best = marked.filter(({ size }) => size >= 0.7 * most).at(-1);
  return best ? { root: best.element, beside: false } : { root: page.body, beside: true };
}

async function walk({ root, beside }: { root: Element; beside: boolean }, writer: Writer): Promise<void> {
  const breath = new Breath();
  let node: Node | null = root;
  while (node) {
    let inside = false;
    if (node instanceof Text) writer.words(node.data);
    else if (node instanceof Element && !(unread(node) || (beside && node.matches(BESIDE)))) {
      writer.enter(node.localName);
      inside = node.firstChild !== null;
      if (!inside) writer.leave(node.localName);
    }
    if (breath.due) await breath.take();
    if (inside) {
      node = node.firstChild;
      continue;
    }
    while (node && node !== root && !node.nextSibling) {
      node = node.parentNode;
      if (node instanceof Element) writer.leave(node.localName);
    }
    node = !node || node === root ? null : node.nextSibling;
  }
}

function unread(element: Element): boolean {
  return (
    NOT_TEXT.has(element.localName) ||
    (element.hasAttribute("hidden") && element.getAttribute("hidden") !== "until-found") ||
    element.getAttribute("aria-hidden") === "true" ||
    HIDING.test(element.getAttribute("data-style") ?? "") ||
    (element.localName === "dialog" && !element.hasAttribute("open"))
  );
}

/** Puts words together to blocks. */
class Writer {
  private readonly blocks: Block[] = [];
  private text = "";
  private kind: Kind = "paragraph";
  private level = 0;
  private code = 0;
  private lists = 0;
  private row = 0;
  private cells = 0;

  words(text: string): void {
    const kept = text.replace(/[\u00ad\u200b]/g, ""); // places where a word may break: nobody sees them
    this.text += this.code ? kept.replace(/\r\n?/g, "\n") : collapsed(kept, this.text);
  }

  enter(tag: string): void {
    if (WITHIN_LINE.has(tag)) return;
    if (tag === "br") {
      this.text = this.row ? `${this.text} ` : `${this.text.trimEnd()}\n`;
      return;
    }
    if (tag === "td" || tag === "th") {
      if (this.cells++ && this.row) this.text = `${this.text.trimEnd()} | `;
      return;
    }
    if (this.row && tag !== "tr") {
      if (this.text && !/\s$/.test(this.text)) this.text += " ";
      return;
    }
    this.end();
    if (tag === "pre") this.code++;
    else if (LISTS.has(tag)) this.lists++;
    else if (tag === "tr") [this.row, this.cells] = [this.row + 1, 0];
    this.choose(tag);
  }

  leave(tag: string): void {
    if (WITHIN_LINE.has(tag) || tag === "br" || tag === "td" || tag === "th") return;
    if (this.row && tag !== "tr") {
      if (this.text && !/\s$/.test(this.text)) this.text += " ";
      return;
    }
    this.end();
    if (tag === "pre") this.code--;
    else if (LISTS.has(tag)) this.lists--;
    else if (tag === "tr") this.row--;
    this.choose("");
  }

  finish(): Block[] {
    this.end();
    return this.blocks;
  }

  private choose(tag: string): void {
    const heading = /^h([1-6])$/.exec(tag);
    this.kind = heading ? "heading" : this.code ? "code" : this.row ? "row" : this.lists ? "item" : "paragraph";
    this.level = heading ? Number(heading[1]) : this.kind === "item" ? this.lists : 0;
  }

  private end(): void {
    const text = this.code ? this.text.replace(/^\n|\s+$/g, "") : this.text.trim().replace(/(?: \|)+$/, "");
    this.text = "";
    if (!text.replace(/[|\s]/g, "")) return;
    const last = this.blocks.at(-1);
    const together = last?.kind === this.kind && (this.kind === "item" || this.kind === "row");
    this.blocks.push({ kind: this.kind, level: this.level, text, gap: together ? "\n" : "\n\n" });
  }
}

/** White space as a browser shows it: one blank, and none at the beginning of a line. */
function collapsed(text: string, before: string): string {
  const single = text.replace(/[ \t\n\r\f]+/g, " ");
  return !before || /\s$/.test(before) ? single.replace(/^ /, "") : single;
}

function clean(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
