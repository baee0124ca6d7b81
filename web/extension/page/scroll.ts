/** Bring a range before the reader's eyes: what is folded is opened, and all that scrolls is scrolled. */

const NEAR = 2; // windows; a longer way is not scrolled smoothly, it would only blur

/** Open what hides a node, as searching in the page does. */
export function reveal(node: Node): void {
  for (const element of ancestors(node)) {
    if (element.localName === "details") (element as HTMLDetailsElement).open = true;
    if (element.getAttribute("hidden") === "until-found") {
      element.dispatchEvent(new Event("beforematch", { bubbles: true }));
      element.removeAttribute("hidden");
    }
  }
}

/** Bring the range to the middle of all that scrolls around it, from the inside out. */
export function scrollTo(range: Range): void {
  for (const element of ancestors(range.startContainer)) {
    const document = element.ownerDocument;
    if (element === document.documentElement) scrollWindow(document.defaultView!, placeIn(document, range));
    else if (isScrollable(element)) scrollElement(element, placeIn(document, range));
  }
}

/** Where a range is, as seen from its own document or from one that holds its frame. */
function placeIn(document: Document, range: Range): Box {
  let { top, bottom, left, right } = range.getBoundingClientRect();
  for (let inner = range.startContainer.ownerDocument!; inner !== document; ) {
    const frame = inner.defaultView!.frameElement!;
    const box = frame.getBoundingClientRect();
    const [down, along] = [box.top + frame.clientTop, box.left + frame.clientLeft];
    [top, bottom, left, right] = [top + down, bottom + down, left + along, right + along];
    inner = frame.ownerDocument;
  }
  return { top, bottom, left, right };
}

interface Box {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

function scrollWindow(view: Window, target: Box): void {
  const { innerHeight: height, innerWidth: width } = view;
  const top = middle(target.top, target.bottom) - height / 2;
  const isSeen = target.top >= height * 0.1 && target.bottom <= height * 0.9;
  const isWide = target.left < 0 || target.left > width;
  if (isSeen && !isWide) return;
  const still = view.matchMedia("(prefers-reduced-motion: reduce)").matches || Math.abs(top) > NEAR * height;
  const outermost = view === view.top; // the places of the outer ones depend on where the inner ones have come to rest
  view.scrollBy({
    top: isSeen ? 0 : top,
    left: isWide ? middle(target.left, target.right) - width / 2 : 0,
    behavior: still || !outermost ? "instant" : "smooth",
  });
}

function scrollElement(element: Element, target: Box): void {
  const box = element.getBoundingClientRect();
  if (target.top < box.top || target.bottom > box.bottom)
    element.scrollBy({ top: middle(target.top, target.bottom) - middle(box.top, box.bottom), behavior: "instant" });
  if (target.left < box.left || target.right > box.right)
    element.scrollBy({ left: middle(target.left, target.right) - middle(box.left, box.right), behavior: "instant" });
}

function isScrollable(element: Element): boolean {
  if (element.scrollHeight <= element.clientHeight && element.scrollWidth <= element.clientWidth) return false;
  const { overflowX, overflowY } = element.ownerDocument.defaultView!.getComputedStyle(element);
  return [overflowX, overflowY].some((overflow) => ["auto", "scroll", "hidden"].includes(overflow));
}

/** The elements around a node, out of shadow trees and frames too. */
function* ancestors(node: Node): Generator<Element> {
  for (let inner: Node | null = node; inner; inner = outside(inner))
    if (inner.nodeType === Node.ELEMENT_NODE) yield inner as Element;
}

function outside(node: Node): Node | null {
  const slot = (node as Partial<Element & Text>).assignedSlot;
  if (slot) return slot;
  if (node.parentNode) return node.parentNode;
  if (node.nodeType === Node.DOCUMENT_FRAGMENT_NODE) return (node as ShadowRoot).host ?? null;
  if (node.nodeType === Node.DOCUMENT_NODE) return (node as Document).defaultView?.frameElement ?? null;
  return null;
}

function middle(start: number, end: number): number {
  return (start + end) / 2;
}
