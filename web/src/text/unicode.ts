/**
 * What each code point is, out of the generated table and never out of the browser's own: a text is cut in the same
 * way wherever it is read.
 *
 * There are two sets of classes. The tokenizer's own say how it cleans and cuts a text; Python's say what the
 * runtime asks of a string (is this a letter, a blank, a mark?).
 */

import * as table from "./unicode-table";

const BLOCK = 256;

/** Classes of all code points: blocks of 256, equal ones kept once. */
class Classes {
  private readonly blocks = new Uint16Array(0x110000 / BLOCK);
  private readonly values: Uint8Array;

  constructor(runs: string, classes: readonly number[]) {
    const flat = new Uint8Array(0x110000);
    let place = 0;
    for (const [, letter, count] of runs.matchAll(/([A-Z])([0-9a-z]*)/g)) {
      const length = count ? parseInt(count, 36) : 1;
      flat.fill(classes[letter!.charCodeAt(0) - 65]!, place, place + length);
      place += length;
    }
    const known = new Map<string, number>();
    const kept: Uint8Array[] = [];
    for (let block = 0; block < this.blocks.length; block++) {
      const part = flat.subarray(block * BLOCK, (block + 1) * BLOCK);
      const key = part.join();
      if (!known.has(key)) {
        known.set(key, kept.length);
        kept.push(part);
      }
      this.blocks[block] = known.get(key)!;
    }
    this.values = new Uint8Array(kept.length * BLOCK);
    kept.forEach((part, number) => this.values.set(part, number * BLOCK));
  }

  of(code: number): number {
    return this.values[this.blocks[code >> 8]! * BLOCK + (code & 255)]!;
  }
}

const library = new Classes(table.LIBRARY_RUNS, table.LIBRARY_CLASSES);
const python = new Classes(table.PYTHON_RUNS, table.PYTHON_CLASSES);

export const { removed, blank, ideograph, accent, separator, punctuation } = table.LIBRARY_BITS;
const { mark, alphanumeric, letter, space, decimal } = table.PYTHON_BITS;

/**
 * The tokenizer's class of a code point: a sum of `removed`, `blank`, `ideograph`, `accent`, `separator`,
 * `punctuation`.
 */
export function libraryClass(code: number): number {
  return library.of(code);
}

/** Whether Python's category of a code point is one of the marks. */
export const isMark = (code: number): boolean => (python.of(code) & mark) !== 0;
/** Python's `str.isalnum` of one character. */
export const isAlphanumeric = (code: number): boolean => (python.of(code) & alphanumeric) !== 0;
/** Python's `str.isalpha` of one character. */
export const isLetter = (code: number): boolean => (python.of(code) & letter) !== 0;
/** Python's `str.isspace` of one character. */
export const isSpace = (code: number): boolean => (python.of(code) & space) !== 0;
/** Python's `str.isdecimal` of one character. */
export const isDecimal = (code: number): boolean => (python.of(code) & decimal) !== 0;

/** The code points of a string; half a surrogate pair is one too. */
export function codePoints(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0)!);
}

/** Whether a string is empty but for blanks, as Python sees them. */
export function isBlankText(text: string): boolean {
  for (let place = 0; place < text.length; place++) if (!isSpace(text.charCodeAt(place))) return false;
  return true;
}

/** The inside of a regular expression's brackets (with the flag u) that matches all code points of a kind. */
export function characterSet(is: (code: number) => boolean): string {
  const escaped = (code: number) => `\\u{${code.toString(16)}}`;
  let set = "";
  for (let code = 0; code < 0x110000; code++) {
    if (!is(code)) continue;
    const first = code;
    while (code + 1 < 0x110000 && is(code + 1)) code++;
    set += code === first ? escaped(first) : `${escaped(first)}-${escaped(code)}`;
  }
  return set;
}

const decompositions = expansions(table.DECOMPOSITIONS.split(" "));
const lowerCase = lowered(table.LOWER_CASE.split(" "));
const combining = new Map<number, number>();
for (const entry of table.COMBINING.split(" ")) {
  const [first, count, rank] = numbers(entry, ",");
  for (let place = 0; place < count!; place++) combining.set(first! + place, rank!);
}

/** What a code point is taken apart into, or nothing if it is whole. */
export function decomposition(code: number): readonly number[] | undefined {
  if (code < 0xc0) return undefined;
  if (code >= 0xac00 && code <= 0xd7a3) return hangul(code - 0xac00);
  return decompositions.get(code);
}

/** In which order marks stand behind their letter; 0 for what is no mark of that kind. */
export function combiningClass(code: number): number {
  return code < 0x300 ? 0 : (combining.get(code) ?? 0);
}

/** A code point in lower case, or nothing if it is that already. */
export function lower(code: number): readonly number[] | undefined {
  return lowerCase.get(code);
}

function hangul(syllable: number): number[] {
  const tail = syllable % 28;
  const parts = [0x1100 + Math.floor(syllable / 588), 0x1161 + Math.floor((syllable % 588) / 28)];
  if (tail) parts.push(0x11a7 + tail);
  return parts;
}

function numbers(entry: string, between: string): number[] {
  return entry.split(between).map((digits) => parseInt(digits, 36));
}

function expansions(entries: string[]): Map<number, readonly number[]> {
  return new Map(
    entries.map((entry) => {
      const [code, ...parts] = numbers(entry, ".");
      return [code!, parts];
    }),
  );
}

function lowered(entries: string[]): Map<number, readonly number[]> {
  const found = expansions(entries.filter((entry) => entry.includes(".")));
  for (const entry of entries.filter((entry) => entry.includes(","))) {
    const [first, count, step, shift] = numbers(entry, ",") as [number, number, number, number];
    for (let place = 0; place < count; place++) found.set(first + place * step, [first + place * step + shift]);
  }
  return found;
}
