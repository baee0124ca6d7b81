/**
 * Ranges of a page in colour, without touching its elements: the CSS Custom Highlight API, with a style sheet that is
 * adopted, not inserted, so that no policy of the page stands in the way.
 */

import { reveal, scrollTo } from "./scroll";

export const CURRENT = "pocketbert-answer";
export const OTHERS = "pocketbert-others";

const STYLE = `
::highlight(${OTHERS}) { background-color: #ffedb8; color: #1d1604; }
::highlight(${CURRENT}) { background-color: #ffbf3f; color: #1d1604; }
@media (forced-colors: active) {
  ::highlight(${CURRENT}) { background-color: Highlight; color: HighlightText; }
  ::highlight(${OTHERS}) { background-color: Mark; color: MarkText; }
}`;

/** A document's own window; its classes are those that its highlights and style sheets must be of. */
type View = Window & typeof globalThis;

const sheets = new WeakMap<Document, CSSStyleSheet>();
const documents = new Set<Document>();

/** Colour some stretches, of which each is a list of ranges, and bring one of them before the reader's eyes. */
export function highlight(stretches: readonly (readonly Range[])[], current: number): void {
  clear();
  stretches.forEach((ranges, number) => {
    for (const range of ranges) colour(range, number === current ? CURRENT : OTHERS);
  });
  const first = stretches[current]?.[0];
  if (!first) return;
  reveal(first.startContainer);
  scrollTo(first);
}

/** Take all colour away again. */
export function clear(): void {
  for (const document of documents) {
    const highlights = viewOf(document)?.CSS.highlights;
    highlights?.delete(CURRENT);
    highlights?.delete(OTHERS);
  }
  documents.clear();
}

function colour(range: Range, name: string): void {
  const document = range.startContainer.ownerDocument!;
  const view = viewOf(document);
  if (!view) return; // the frame is gone
  adopt(range.startContainer.getRootNode() as Document | ShadowRoot, document, view);
  documents.add(document);
  const { highlights } = view.CSS;
  const present = highlights.get(name);
  if (present) present.add(range);
  else {
    const made = new view.Highlight(range);
    made.priority = name === CURRENT ? 1 : 0; // answers may share words
    highlights.set(name, made);
  }
}

/** Shadow trees do not see the sheets of their document. */
function adopt(root: Document | ShadowRoot, document: Document, view: View): void {
  let sheet = sheets.get(document);
  if (!sheet) {
    sheet = new view.CSSStyleSheet();
    sheet.replaceSync(STYLE);
    sheets.set(document, sheet);
  }
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}

function viewOf(document: Document): View | null {
  return document.defaultView as View | null;
}
