/** A document as a reader holds it: tokenised once, 12 bytes a token, and cut into windows when their turn comes. */

import { isMark } from "../text/unicode";
import { SPECIAL_TOKENS, type Window, framed, mostContext, roomAndStep } from "../text/windows";
import type { Tokens, WordPiece } from "../text/wordpiece";

export class Document {
  readonly tokens: Tokens;

  constructor(
    readonly text: string,
    readonly tokenizer: WordPiece,
  ) {
    this.tokens = tokenizer.tokens(text);
  }

  get length(): number {
    return this.tokens.ids.length;
  }

  /**
   * Where the tokens `first` to `last` stand in the text, with the words at both ends whole if asked for.
   *
   * The end takes in the combining marks that follow: an uncased tokenizer drops them, and "é" may be two characters.
   */
  characters(first: number, last: number, wholeWords: boolean): [start: number, end: number] {
    if (wholeWords) {
      while (first > 0 && this.continues(first)) first--;
      while (last + 1 < this.length && this.continues(last + 1)) last++;
    }
    const start = this.tokens.starts[first]!;
    let end = this.tokens.ends[last]!;
    for (let code = this.text.codePointAt(end); code !== undefined && isMark(code); code = this.text.codePointAt(end))
      end += code > 0xffff ? 2 : 1;
    return [start, end];
  }

  private continues(token: number): boolean {
    return this.tokenizer.kind(this.tokens.ids[token]!) === "continuation";
  }
}

/** Where one window is: its tokens in its document, and how many the next window has. */
export interface Stretch {
  document: number;
  first: number;
  /** One past the last token. */
  last: number;
  /** How many tokens the next window has; 0 if this is the last. */
  following: number;
}

/** A question and all windows over the documents it is asked of; no window holds tokens of two documents. */
export class Plan {
  readonly stretches: readonly Stretch[];
  private readonly room: number;
  private readonly step: number;

  constructor(
    readonly questionIds: Int32Array,
    readonly documents: readonly Document[],
    maxLength: number,
    overlap: number | null,
  ) {
    [this.room, this.step] = roomAndStep(questionIds.length, maxLength, overlap);
    this.stretches = documents.flatMap((document, number) =>
      stretches(number, document.length, this.room, this.step),
    );
  }

  get length(): number {
    return this.stretches.length;
  }

  get tokenizer(): WordPiece {
    return this.documents[0]!.tokenizer;
  }

  /** How many tokens a window has, question and special ones included. */
  windowLength(number: number): number {
    const { first, last } = this.stretches[number]!;
    return this.questionIds.length + SPECIAL_TOKENS + last - first;
  }

  /** Make one window. */
  window(number: number): Window {
    const { document, first, last, following } = this.stretches[number]!;
    const marks = { cls: this.tokenizer.special("cls"), sep: this.tokenizer.special("sep") };
    return framed(this.questionIds, this.documents[document]!.tokens.ids.subarray(first, last), marks, {
      best: mostContext(last - first, following, this.room, this.step, first > 0),
      firstToken: first,
    });
  }

  /** How many tokens the documents have. */
  get tokens(): number {
    return this.documents.reduce((sum, document) => sum + document.length, 0);
  }

  /** How many tokens of the documents some windows hold, those in two of them counted once. */
  tokensOf(numbers: Iterable<number>): number {
    let seen = 0;
    let total = 0;
    let document = -1;
    for (const number of [...numbers].sort((a, b) => a - b)) {
      const stretch = this.stretches[number]!;
      if (stretch.document !== document) [document, seen] = [stretch.document, 0];
      total += stretch.last - Math.max(seen, stretch.first);
      seen = stretch.last;
    }
    return total;
  }
}

function stretches(document: number, tokens: number, room: number, step: number): Stretch[] {
  const found: Stretch[] = [];
  for (let first = 0; ; first += step) {
    const following = tokens - first > room ? Math.min(tokens - first - step, room) : 0;
    found.push({ document, first, last: Math.min(first + room, tokens), following });
    if (!following) return found;
  }
}
