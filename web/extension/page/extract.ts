/**
 * The text of a page as a person sees it, and where each character stands in the document.
 *
 * It is the flat tree that is walked: shadow trees in the place of their hosts, slots with what was put into them,
 * frames of the same origin where they stand. Unlike `innerText`, the characters are those of the text nodes, whatever
 * CSS makes of their case, so that places can be mapped back.
 */

import { type PageText, Writer } from "./text";
import { Eye, type Look } from "./visible";

export interface Extract {
  text: PageText<Text>;
  /** Frames of other sites, which may not be read. */
  closedFrames: number;
}

/** A node whose children are being walked. */
interface Level {
  children: ArrayLike<Node>;
  next: number;
  look: Look;
  view: Window;
}

type Shadow = (element: Element) => ShadowRoot | null;

const SLICE = 40; // milliseconds after which the page gets a turn
const CHECKED = 256; // nodes between two looks at the clock
const SMALLEST_FRAME = 50; // pixels; smaller ones count visitors
const PLAIN: Look = { standing: "block", seen: true, kept: false };
const CELLS = " | "; // a row of cells is one sentence to the reader

/** Read a document; the page goes on meanwhile, if it is long. */
export async function extract(document: Document, shadow: Shadow): Promise<Extract> {
  const walk = new Walk(shadow);
  walk.enterDocument(document);
  for (;;) {
    const until = performance.now() + SLICE;
    do if (!walk.steps(CHECKED)) return walk.finish();
    while (performance.now() < until);
    await new Promise((resolve) => setTimeout(resolve));
  }
}

class Walk {
  private readonly writer = new Writer<Text>();
  private readonly eye = new Eye();
  private readonly levels: Level[] = [];
  private closedFrames = 0;
  private cells = 0; // open ones
  private cellIsFirst = true;

  constructor(private readonly shadow: Shadow) {}

  finish(): Extract {
    return { text: this.writer.finish(), closedFrames: this.closedFrames };
  }

  enterDocument(document: Document): void {
    const view = document.defaultView;
    const root = document.body ?? document.documentElement;
    if (view && root) this.enter([root], PLAIN, view);
  }

  /** Go on for some nodes; false at the end. */
  steps(count: number): boolean {
    for (; count > 0; count--) {
      const level = this.levels.at(-1);
      if (!level) return false;
      const node = level.children[level.next++];
      if (!node) this.leave();
      else if (node.nodeType === Node.TEXT_NODE) this.text(node as Text, level.look);
      else if (node.nodeType === Node.ELEMENT_NODE) this.element(node as Element, level.view);
    }
    return true;
  }

  private text(node: Text, look: Look): void {
    if (!look.seen) return;
    if (look.kept) this.writer.kept(node);
    else this.writer.words(node);
  }

  private element(element: Element, view: Window): void {
    const name = element.localName;
    if (name === "br") {
      if (view.getComputedStyle(element).display === "none") return;
      if (this.cells) this.writer.blank();
      else this.writer.newline();
      return;
    }
    const isFrame = name === "iframe" || name === "frame";
    const look = this.eye.look(element, view);
    if (!look) return;
    if (isFrame) this.frame(element as HTMLIFrameElement, look);
    else this.enter(this.children(element), look, view);
  }

  /** What is shown inside an element. */
  private children(element: Element): ArrayLike<Node> {
    const shadow = this.shadow(element);
    if (shadow) return [...shadow.childNodes];
    if (element.localName === "slot") {
      const assigned = (element as HTMLSlotElement).assignedNodes();
      if (assigned.length) return assigned;
    }
    return element.hasChildNodes() ? [...element.childNodes] : [];
  }

  private frame(frame: HTMLIFrameElement, look: Look): void {
    let inner: Document | null = null;
    try {
      inner = frame.contentDocument;
    } catch {
      // Some browsers throw where others say null: it is another site's.
    }
    if (inner) this.enterDocument(inner);
    else if (look.seen && frame.clientWidth >= SMALLEST_FRAME && frame.clientHeight >= SMALLEST_FRAME)
      this.closedFrames++;
  }

  private enter(children: ArrayLike<Node>, look: Look, view: Window): void {
    if (look.standing === "cell") {
      if (!this.cellIsFirst) this.writer.divide(CELLS);
      this.cellIsFirst = false;
      this.cells++;
    } else this.part(look);
    this.levels.push({ children, next: 0, look, view });
  }

  private leave(): void {
    const { look } = this.levels.pop()!;
    if (look.standing === "cell") this.cells--;
    else this.part(look);
  }

  /** What parts an element from its neighbours; a break inside a cell would tear its row apart. */
  private part({ standing }: Look): void {
    if (standing === "row") this.cellIsFirst = true;
    if (standing === "inline") return;
    if (this.cells) this.writer.blank();
    else if (standing === "row") this.writer.line();
    else this.writer.paragraph();
  }
}
