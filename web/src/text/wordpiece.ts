/** WordPiece: a text to ids, with the places of the tokens in UTF-16 units, as in `text.slice(start, end)`. */

import { normalize } from "./normalize";
import { libraryClass, punctuation, separator } from "./unicode";
import type { Role, Settings } from "./vocabulary";

const PREFIX = "##";

export type Kind = "word" | "continuation" | "special";

/** Tokens as columns of four bytes a number: a book of them stays small. */
export interface Tokens {
  ids: Int32Array;
  starts: Int32Array;
  ends: Int32Array;
}

export class WordPiece {
  private readonly ids = new Map<string, number>();
  private readonly continuations = new Map<string, number>();
  private readonly unknown: number;

  constructor(private readonly settings: Settings) {
    settings.words.forEach((word, id) => {
      if (settings.special.has(word)) return;
      this.ids.set(word, id);
      if (word.startsWith(PREFIX)) this.continuations.set(word.slice(PREFIX.length), id);
    });
    this.unknown = this.special("unk");
  }

  get size(): number {
    return this.settings.words.length;
  }

  /** The word with an id. */
  word(id: number): string {
    return this.settings.words[id]!;
  }

  kind(id: number): Kind {
    const word = this.word(id);
    if (this.settings.special.has(word)) return "special";
    return word.startsWith(PREFIX) && word !== PREFIX ? "continuation" : "word";
  }

  /** The id of a special token. */
  special(role: Role): number {
    return this.settings.words.indexOf(this.settings.roles[role]);
  }

  /** All tokens of a text; special tokens written out in it are text. */
  tokens(text: string): Tokens {
    const found = new Columns();
    const word = new Word();
    const finish = () => {
      if (!word.length) return;
      this.cut(word, found);
      word.clear();
    };
    normalize(text, this.settings, (code, start, end) => {
      const kind = libraryClass(code);
      if (kind & separator) return finish();
      if (!(kind & punctuation)) return word.push(code, start, end);
      finish();
      word.push(code, start, end);
      finish();
    });
    finish();
    return found.trimmed();
  }

  /** The longest pieces from the left; a word that cannot be spelled, or is too long, is one unknown token. */
  private cut(word: Word, found: Columns): void {
    const mark = found.length;
    if (word.length <= this.settings.longestWord) {
      const text = String.fromCodePoint(...word.codes);
      let first = 0;
      let left = 0; // the same place in UTF-16 units
      while (first < word.length) {
        const known = first === 0 ? this.ids : this.continuations;
        let last = word.length;
        let right = text.length;
        let id: number | undefined;
        while (last > first && (id = known.get(text.slice(left, right))) === undefined)
          right -= word.codes[--last]! > 0xffff ? 2 : 1;
        if (id === undefined) break;
        found.push(id, word.starts[first]!, word.ends[last - 1]!);
        first = last;
        left = right;
      }
      if (first === word.length) return;
      found.length = mark;
    }
    found.push(this.unknown, word.starts[0]!, word.ends[word.length - 1]!);
  }
}

/** The code points of one word and their places, while it is read. */
class Word {
  readonly codes: number[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];

  get length(): number {
    return this.codes.length;
  }

  push(code: number, start: number, end: number): void {
    this.codes.push(code);
    this.starts.push(start);
    this.ends.push(end);
  }

  clear(): void {
    this.codes.length = this.starts.length = this.ends.length = 0;
  }
}

/** Columns that grow. */
class Columns {
  length = 0;
  private ids = new Int32Array(256);
  private starts = new Int32Array(256);
  private ends = new Int32Array(256);

  push(id: number, start: number, end: number): void {
    if (this.length === this.ids.length) this.resize(2 * this.length);
    this.ids[this.length] = id;
    this.starts[this.length] = start;
    this.ends[this.length++] = end;
  }

  trimmed(): Tokens {
    this.resize(this.length);
    return { ids: this.ids, starts: this.starts, ends: this.ends };
  }

  private resize(size: number): void {
    const resized = (column: Int32Array) => {
      const other = new Int32Array(size);
      other.set(column.subarray(0, size));
      return other;
    };
    [this.ids, this.starts, this.ends] = [resized(this.ids), resized(this.starts), resized(this.ends)];
  }
}
