/** Which elements of a page hold text for a reader, and how they stand beside their neighbours. */

/** How an element is parted from what is around it. */
export type Standing = "inline" | "block" | "row" | "cell";

export interface Look {
  standing: Standing;
  /** Whether its own text is seen; what it holds may be seen even if not. */
  seen: boolean;
  /** Whether its white space is shown as it is. */
  kept: boolean;
}

// What people type is theirs, and cannot be highlighted; drawings, scripts and controls are no text.
const NOT_TEXT = new Set(
  (
    "annotation annotation-xml audio canvas datalist embed head input meter noembed noframes noscript object option " +
    "progress rp script select style svg template textarea title video"
  ).split(" "),
);
const UNFOLDING = new Set(["h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary"]);
const DROP_CAP = 2; // characters

/** Looks at elements; what was found out about a table is kept, since every one of its cells asks for it. */
export class Eye {
  private readonly layouts = new Map<Element, boolean>();

  /** How an element looks; null if nothing below it is to be read. */
  look(element: Element, view: Window): Look | null {
    const name = element.localName;
    if (NOT_TEXT.has(name) || isControl(element, name) || isDecoration(element)) return null;
    const style = view.getComputedStyle(element);
    const { display } = style;
    if (display === "none" || isLocked(element, style) || isForScreenReaders(element, style)) return null;
    return {
      standing: this.standing(element, display, style),
      seen: style.visibility === "visible",
      kept: style.whiteSpace.startsWith("pre") || style.whiteSpace.startsWith("break-spaces"),
    };
  }

  private standing(element: Element, display: string, style: CSSStyleDeclaration): Standing {
    if (/^(?:inline|contents|ruby)|math$/.test(display)) return "inline";
    if (display === "table-cell") return this.isForLayout(element.closest("table")) ? "block" : "cell";
    if (display === "table-row") return "row";
    return isDropCap(element, style) ? "inline" : "block";
  }

  private isForLayout(table: Element | null): boolean {
    if (!table) return false;
    let known = this.layouts.get(table);
    if (known === undefined) this.layouts.set(table, (known = isLayoutTable(table)));
    return known;
  }
}

/** A heading may be a button that unfolds what it heads; other buttons say what can be done, not what is so. */
function isControl(element: Element, name: string): boolean {
  return name === "button" && !UNFOLDING.has(element.parentElement?.localName ?? "");
}

/** Icons that are letters and the like; not a whole page that lies behind a dialog. */
function isDecoration(element: Element): boolean {
  return element.getAttribute("aria-hidden") === "true" && !element.querySelector("p, h1, h2, main, article");
}

/** What the page withholds from being shown, unless searching is meant to open it. */
function isLocked(element: Element, style: CSSStyleDeclaration): boolean {
  return style.contentVisibility === "hidden" && element.getAttribute("hidden") !== "until-found";
}

/**
 * Text that is there to be heard is made a pixel small: the words could not be shown. Transparent text is read: many
 * pages fade it in when it is scrolled to.
 */
function isForScreenReaders(element: Element, style: CSSStyleDeclaration): boolean {
  if (style.position !== "absolute" && style.position !== "fixed") return false;
  if (style.overflowX === "visible" && style.clip === "auto") return false;
  const { clientWidth, clientHeight } = element;
  return clientWidth <= 1 || clientHeight <= 1;
}

/** Tables that hold tables, or say that they are none, are there for the layout. */
function isLayoutTable(table: Element): boolean {
  const role = table.getAttribute("role");
  return role === "presentation" || role === "none" || table.querySelector("table") !== null;
}

/** A large first letter floats before the rest of its word. */
function isDropCap(element: Element, style: CSSStyleDeclaration): boolean {
  if (style.float === "none" || element.childElementCount > 1) return false;
  return element.textContent!.trim().length <= DROP_CAP;
}
