/**
 * What is put into a page once it is asked a question, in a world of its own that the page's scripts do not see: it
 * gives the text out, and colours what the panel names by its place in that text.
 */

import { type Extract, extract } from "./extract";
import { clear, highlight } from "./highlight";
import type { PageCalls, PageReport, Stretch } from "./calls";

let last: Extract | undefined;

const calls: PageCalls = {
  async read(): Promise<PageReport> {
    clear();
    const begin = performance.now();
    last = await extract(document, shadowOf);
    return {
      text: last.text.text,
      closedFrames: last.closedFrames,
      kind: document.contentType,
      milliseconds: performance.now() - begin,
    };
  },

  show(stretches: readonly Stretch[], current: number) {
    const ranges = stretches.map(rangesOf);
    if (!ranges.every((found) => found.length)) {
      clear();
      return "changed";
    }
    highlight(ranges, current);
    return "shown";
  },

  clear,
};

/**
 * The ranges of a stretch of the text, one per text node, so that none crosses the border of a shadow tree; none at all
 * if the page has changed.
 */
function rangesOf({ start, end }: Stretch): Range[] {
  if (!last?.text.holds(start, end)) return [];
  const pieces = last.text.pieces(start, end);
  if (!pieces.every(({ source }) => source.isConnected && source.ownerDocument.defaultView)) return [];
  return pieces.map(({ source, start: from, end: to }) => {
    const range = source.ownerDocument.createRange();
    range.setStart(source, from);
    range.setEnd(source, to);
    return range;
  });
}

/** Extensions may look into closed shadow trees too: the person at the screen does. */
function shadowOf(element: Element): ShadowRoot | null {
  if (element.shadowRoot) return element.shadowRoot;
  if (!(element instanceof HTMLElement)) return null;
  return globalThis.chrome?.dom?.openOrClosedShadowRoot(element) ?? null;
}

declare global {
  var pocketbertPage: PageCalls | undefined;
}

if (!globalThis.pocketbertPage) {
  globalThis.pocketbertPage = calls;
  // The panel holds a line open; when it is closed, the page looks again as it did.
  globalThis.chrome?.runtime?.onConnect.addListener((port) => port.onDisconnect.addListener(clear));
}
