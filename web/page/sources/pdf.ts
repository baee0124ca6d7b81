/** PDF to blocks: lines put together to paragraphs. The library comes when the first PDF does. */

import worker from "pdfjs-dist/build/pdf.worker.min.mjs?worker&url";
import { Breath } from "../breathe";
import { type Block, Content } from "../content";

interface Line {
  text: string;
  left: number;
  right: number;
  bottom: number;
  height: number;
}

interface Item {
  str: string;
  transform: number[];
  width: number;
  height: number;
  hasEOL: boolean;
}

const WIDE_GAP = 1.45; // times the usual distance of two lines
const OTHER_SIZE = 1.2; // times the height of the line before
const HEADING_SIZE = 1.25; // times the usual height

export async function fromPdf(
  bytes: Uint8Array<ArrayBuffer>,
  name: string,
  progress: (pages: number, of: number) => void,
): Promise<Content> {
  const { getDocument, GlobalWorkerOptions } = await import("pdfjs-dist");
  GlobalWorkerOptions.workerSrc = worker;
  // Only the words are wanted: no font is shown, no image opened, no code of the file compiled.
  const task = getDocument({
    data: bytes,
    isEvalSupported: false,
    disableFontFace: true,
    useWorkerFetch: false,
    useWasm: false,
    verbosity: 0,
  });
  try {
    const pdf = await task.promise;
    const pages: Line[][] = [];
    const breath = new Breath();
    for (let number = 1; number <= pdf.numPages; number++) {
      const page = await pdf.getPage(number);
      const { items } = await page.getTextContent();
      pages.push(linesOf(items as Item[]));
      page.cleanup();
      progress(number, pdf.numPages);
      if (breath.due) await breath.take();
    }
    const { info } = (await pdf.getMetadata()) as { info: { Title?: unknown } };
    const title = typeof info.Title === "string" && info.Title.trim() ? info.Title.trim() : name;
    const form = `PDF, ${pdf.numPages} ${pdf.numPages === 1 ? "page" : "pages"}`;
    return Content.of(blocksOf(pages), { title, form });
  } finally {
    await task.destroy();
  }
}

function linesOf(items: readonly Item[]): Line[] {
  const lines: Line[] = [];
  let line: Line | null = null;
  for (const { str, transform, width, height, hasEOL } of items) {
    const [left, bottom] = [transform[4]!, transform[5]!];
    if (str.trim()) {
      const apart = line && Math.abs(line.bottom - bottom) > 0.5 * Math.max(line.height, height);
      if (!line || apart) {
        if (line) lines.push(line);
        line = { text: str, left, right: left + width, bottom, height };
      } else {
        const gap = left - line.right > 0.15 * height && !/\s$/.test(line.text) && !/^\s/.test(str);
        line.text += gap ? ` ${str}` : str;
        line.right = left + width;
        line.height = Math.max(line.height, height);
      }
    } else if (line && str && !/\s$/.test(line.text)) line.text += " ";
    if (hasEOL && line) {
      lines.push(line);
      line = null;
    }
  }
  if (line) lines.push(line);
  return lines
    .map((each) => ({ ...each, text: each.text.replace(/[\u00ad\u200b]/g, "").replace(/\s+/g, " ").trim() }))
    .filter(({ text }) => text);
}

function blocksOf(pages: readonly Line[][]): Block[] {
  const heights = pages.flat().map(({ height }) => height);
  const usual = median(heights);
  const blocks: Block[] = [];
  let text = "";
  let last: Line | null = null;
  let heading = false;
  const end = () => {
    if (text) blocks.push({ kind: heading ? "heading" : "paragraph", level: heading ? 2 : 0, text, gap: "\n\n" });
    text = "";
  };
  for (const lines of pages) {
    const drops = lines.slice(1).map((line, number) => lines[number]!.bottom - line.bottom);
    const pitch = median(drops.filter((drop) => drop > 0));
    const margin = Math.max(0, ...lines.map(({ right }) => right));
    for (const [number, line] of lines.entries()) {
      const above: Line | null = number ? lines[number - 1]! : last;
      if (above && !goesOn(above, line, number ? pitch : null, margin)) end();
      if (!text) heading = line.height > HEADING_SIZE * usual && line.text.length < 120;
      text = joined(text, line.text);
      last = line;
    }
  }
  end();
  return blocks;
}

/** Whether a line is the same paragraph as the one above; over the end of a page only the words can tell. */
function goesOn(above: Line, line: Line, pitch: number | null, margin: number): boolean {
  const [low, high] = [Math.min(above.height, line.height), Math.max(above.height, line.height)];
  if (high > OTHER_SIZE * low) return false;
  const drop = above.bottom - line.bottom;
  if (pitch === null || drop <= 0) return !/[.!?:…]$/.test(above.text) && /^\p{Ll}/u.test(line.text);
  if (drop > WIDE_GAP * Math.max(pitch, low)) return false;
  // Where the next word would have had room, the line was ended on purpose.
  const firstWord = ((line.right - line.left) * (line.text.split(" ")[0]!.length + 1)) / line.text.length;
  return margin - above.right < Math.max(firstWord, 2 * line.height);
}

/** Two lines as one; a word that was divided at the end of the first is made whole. */
function joined(above: string, below: string): string {
  if (!above) return below;
  if (/\p{L}-$/u.test(above) && /^\p{Ll}/u.test(below)) return above.slice(0, -1) + below;
  return `${above} ${below}`;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[(sorted.length - 1) >> 1] ?? 0;
}
