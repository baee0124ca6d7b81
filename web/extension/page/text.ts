/**
 * A text put together from the text nodes of a page, with white space tidied, and the way back: which characters of
 * which nodes a stretch of it is.
 */

/** What the text is taken from: a text node, as far as it matters here. */
export interface Source {
  readonly data: string;
}

/** Characters `start` to `end` of one source. */
export interface Piece<S extends Source> {
  source: S;
  start: number;
  end: number;
}

// Soft hyphens, zero-width spaces and their like: nobody sees them, and they would split words for a reader.
const UNSEEN = "\\0\\u00ad\\u200b\\u2060\\ufeff";
const UNUSUAL = new RegExp(`[ \\t\\n\\f\\r\\u00a0]{2,}|[\\t\\n\\f\\r\\u00a0]|[${UNSEEN}]+`, "g");
const KEPT = new RegExp(`(\\r\\n|\\r|\\n)|([ \\t]+)|[${UNSEEN}]+`, "g");
const BLANK = /[ \t\n\f\r\u00a0]/;

const NO_GAP = 0;
const BLANK_GAP = 1;
const LINE_GAP = 2;
const PARAGRAPH_GAP = 3;
const BREAKS = ["", " ", "\n", "\n\n"];

interface Run<S> {
  text: string;
  /** null is what the writer added. */
  source: S | null;
  offset: number;
}

/** The finished text. */
export class PageText<S extends Source> {
  constructor(
    readonly text: string,
    /** Where each run begins in the text; runs of one source that follow one another are one. */
    private readonly starts: readonly number[],
    private readonly ends: readonly number[],
    private readonly sources: readonly S[],
    private readonly offsets: readonly number[],
  ) {}

  /**
   * What `text.slice(start, end)` is in the sources, in order. What was dropped between two of its characters is taken
   * in; what was added between sources is in none.
   */
  pieces(start: number, end: number): Piece<S>[] {
    const found: Piece<S>[] = [];
    for (let run = this.runAt(start); run < this.starts.length && this.starts[run]! < end; run++) {
      const from = Math.max(start, this.starts[run]!);
      const to = Math.min(end, this.ends[run]!);
      if (from >= to) continue;
      const shift = this.offsets[run]! - this.starts[run]!;
      const source = this.sources[run]!;
      const last = found.at(-1);
      if (last?.source === source) last.end = to + shift;
      else found.push({ source, start: from + shift, end: to + shift });
    }
    return found;
  }

  /** Whether the sources still say what they said, from `start` to `end`. */
  holds(start: number, end: number): boolean {
    for (let run = this.runAt(start); run < this.starts.length && this.starts[run]! < end; run++) {
      const from = Math.max(start, this.starts[run]!);
      const to = Math.min(end, this.ends[run]!);
      const shift = this.offsets[run]! - this.starts[run]!;
      for (let place = from; place < to; place++) {
        const [written, now] = [this.text[place]!, this.sources[run]!.data[place + shift] ?? ""];
        if (now !== written && !alike(now, written)) return false;
      }
    }
    return true;
  }

  /** The first run that ends behind a place. */
  private runAt(place: number): number {
    let low = 0;
    let high = this.ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle]! > place) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** A blank may stand for another, and a character that is half of one for any such half. */
function alike(now: string, written: string): boolean {
  return (BLANK.test(now) && BLANK.test(written)) || (written === "\ufffd" && /[\ud800-\udfff]/.test(now));
}

/** Collects a text; gaps are held back until more text follows, so that none stands at an end or twice. */
export class Writer<S extends Source> {
  private readonly parts: string[] = [];
  private length = 0;
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private readonly sources: S[] = [];
  private readonly offsets: number[] = [];
  private gap = NO_GAP;
  private held: Run<S>[] = [];

  /** Add a text whose white space is shown as single blanks. */
  words(source: S): void {
    const { data } = source;
    let place = 0;
    for (const { 0: match, index } of data.matchAll(UNUSUAL)) {
      this.stretch(source, place, index);
      if (BLANK.test(match[0]!)) this.space(source, index, match === "\u00a0" ? match : " ");
      place = index + match.length;
    }
    this.stretch(source, place, data.length);
  }

  /** Add a text whose white space is shown as it is. */
  kept(source: S): void {
    const { data } = source;
    let place = 0;
    for (const { 0: match, 1: line, 2: blanks, index } of data.matchAll(KEPT)) {
      this.add(source, place, index);
      if (line || blanks) this.held.push({ text: line ? "\n" : blanks!, source, offset: index });
      place = index + match.length;
    }
    this.add(source, place, data.length);
  }

  /** Part what follows by a blank that is in no source. */
  blank(): void {
    if (this.gap !== NO_GAP || this.held.length) return;
    this.gap = BLANK_GAP;
    this.held = [{ text: " ", source: null, offset: 0 }];
  }

  /** Break the line; twice makes a paragraph. */
  newline(): void {
    this.separate(this.gap >= LINE_GAP ? PARAGRAPH_GAP : LINE_GAP);
  }

  /** What follows stands on a new line. */
  line(): void {
    this.separate(LINE_GAP);
  }

  paragraph(): void {
    this.separate(PARAGRAPH_GAP);
  }

  /** What follows stands in the same line behind a divider. */
  divide(text: string): void {
    if (this.gap === BLANK_GAP) [this.gap, this.held] = [NO_GAP, []];
    this.held.push({ text: this.gap ? text.trimStart() : text, source: null, offset: 0 });
  }

  finish(): PageText<S> {
    // A character that is half of one does not survive the way out of the page; the length stays the same.
    const text = this.parts.join("").replace(/\p{Surrogate}/gu, "\ufffd");
    return new PageText(text, this.starts, this.ends, this.sources, this.offsets);
  }

  private separate(gap: number): void {
    this.gap = Math.max(this.gap, gap);
    this.held = [];
  }

  private space(source: S, offset: number, text: string): void {
    if (this.gap !== NO_GAP || this.held.length) return;
    this.gap = BLANK_GAP;
    this.held = [{ text, source, offset }];
  }

  /** Text in which white space is single blanks, at the ends too. */
  private stretch(source: S, start: number, end: number): void {
    if (start < end && source.data[start] === " ") this.space(source, start++, " ");
    const blank = start < end && source.data[end - 1] === " ";
    this.add(source, start, blank ? end - 1 : end);
    if (blank) this.space(source, end - 1, " ");
  }

  private add(source: S, start: number, end: number): void {
    if (start >= end) return;
    if (this.length) {
      if (this.gap >= LINE_GAP) this.run({ text: BREAKS[this.gap]!, source: null, offset: 0 });
      for (const run of this.held) this.run(run);
    }
    this.gap = NO_GAP;
    if (this.held.length) this.held = [];
    this.run({ text: source.data.slice(start, end), source, offset: start });
  }

  private run({ text, source, offset }: Run<S>): void {
    const start = this.length;
    this.parts.push(text);
    this.length += text.length;
    if (source === null) return;
    const last = this.starts.length - 1;
    const follows =
      last >= 0 &&
      this.sources[last] === source &&
      this.ends[last] === start &&
      this.offsets[last]! + start - this.starts[last]! === offset;
    if (follows) {
      this.ends[last] = this.length;
      return;
    }
    this.starts.push(start);
    this.ends.push(this.length);
    this.sources.push(source);
    this.offsets.push(offset);
  }
}
