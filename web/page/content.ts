/**
 * A text as it is shown: blocks, each of them one element with one string in it.
 *
 * The reader reads the blocks as one string, so a place in that string is a block and a place in it, exactly.
 */

import { Breath } from "./breathe";

export type Kind = "paragraph" | "heading" | "item" | "row" | "code";

export interface Block {
  kind: Kind;
  /** Of a heading, 1 to 6; of an item, how deep its list is. */
  level: number;
  text: string;
  /** What stands between this block and the one before: blank lines, or nothing where a long one was cut. */
  gap: string;
}

export interface Placed extends Block {
  /** Where its first character is in the whole text. */
  start: number;
}

/** A part of a block, in its own characters. */
export interface Stretch {
  block: number;
  from: number;
  to: number;
}

export interface About {
  title: string;
  /** What it is: "PDF, 12 pages". */
  form: string;
}

export class Content {
  private constructor(
    readonly blocks: readonly Placed[],
    readonly text: string,
    readonly words: number,
    readonly about: About,
  ) {}

  static async of(blocks: readonly Block[], about: About): Promise<Content> {
    const breath = new Breath();
    const placed: Placed[] = [];
    const pieces: string[] = [];
    let start = 0;
    let words = 0;
    for (const block of blocks) {
      for (const part of shortened(block)) {
        const gap = placed.length ? part.gap : "";
        pieces.push(gap, part.text);
        placed.push({ ...part, start: start + gap.length });
        start += gap.length + part.text.length;
        words += countWords(part.text);
        if (breath.due) await breath.take();
      }
    }
    return new Content(placed, pieces.join(""), words, about);
  }

  /** Where a stretch of the text is shown; what stands between two blocks is shown nowhere. */
  stretches(start: number, end: number): Stretch[] {
    const found: Stretch[] = [];
    for (let block = this.blockAt(start); block < this.blocks.length; block++) {
      const { start: first, text } = this.blocks[block]!;
      if (first >= end) break;
      const [from, to] = [Math.max(0, start - first), Math.min(text.length, end - first)];
      if (from < to) found.push({ block, from, to });
    }
    return found;
  }

  /** The last block that begins at or before a place. */
  private blockAt(place: number): number {
    let [low, high] = [0, this.blocks.length];
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (this.blocks[middle]!.start <= place) low = middle;
      else high = middle;
    }
    return low;
  }
}

const LONGEST = 4000; // characters in one element; the browser lays out an element in one go

/** A block that is too long for one element, as several without a gap. */
function shortened(block: Block): Block[] {
  const found: Block[] = [];
  let { text, gap } = block;
  while (text.length > LONGEST) {
    let cut = text.lastIndexOf(" ", LONGEST) + 1;
    if (cut < LONGEST / 2) cut = LONGEST;
    if (isLow(text.charCodeAt(cut))) cut++; // not between the halves of a character
    found.push({ ...block, gap, text: text.slice(0, cut) });
    [text, gap] = [text.slice(cut), ""];
  }
  return text ? [...found, { ...block, gap, text }] : found;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}

/** Not by splitting, which would make an array of all of them. */
function countWords(text: string): number {
  let count = 0;
  let inside = false;
  for (let place = 0; place < text.length; place++) {
    const blank = text.charCodeAt(place) <= 32;
    if (!blank && !inside) count++;
    inside = !blank;
  }
  return count;
}
