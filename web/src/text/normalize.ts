/**
 * BERT's clean-up of a text, one code point at a time: controls go, blanks become spaces, ideographs stand alone,
 * accents and capitals are dropped. Each code point that comes out knows where in the text it was, in UTF-16 units.
 */

import { accent, blank, combiningClass, decomposition, ideograph, libraryClass, lower, removed } from "./unicode";

export interface Normalization {
  lowercase: boolean;
  /** null does as BERT does: accents go when letters are lowered. */
  stripAccents: boolean | null;
  clean: boolean;
  splitChinese: boolean;
}

/** Takes each code point that is left, and the stretch of the text that it stands for. */
export type Sink = (code: number, start: number, end: number) => void;

const SPACE = 32;
const UNREADABLE = 0xfffd;

/** Feed a whole text to a sink. */
export function normalize(text: string, rules: Normalization, sink: Sink): void {
  const letters = rules.lowercase ? lowering(sink) : sink;
  const strip = rules.stripAccents ?? rules.lowercase;
  const marks = strip ? new Marks(letters) : null;
  const next: Taker = marks ? (code, start, end, inserted) => marks.take(code, start, end, inserted) : letters;
  for (let place = 0; place < text.length;) {
    const start = place;
    let code = text.codePointAt(place)!;
    place += code > 0xffff ? 2 : 1;
    // Half of a surrogate pair is no character: it stands for what cannot be read, here as in Python.
    if (code >= 0xd800 && code <= 0xdfff) code = UNREADABLE;
    const kind = libraryClass(code);
    if (rules.clean) {
      if (kind & removed) continue;
      if (kind & blank) code = SPACE;
    }
    if (rules.splitChinese && kind & ideograph) {
      next(SPACE, start, place, false);
      next(code, start, place, true);
      next(SPACE, start, place, true);
    } else {
      next(code, start, place, false);
    }
  }
  marks?.flush();
}

type Taker = (code: number, start: number, end: number, inserted: boolean) => void;

function lowering(sink: Sink): Sink {
  return (code, start, end) => {
    const parts = lower(code);
    if (!parts) sink(code, start, end);
    else for (const part of parts) sink(part, start, end);
  };
}

/**
 * Takes characters apart, puts their marks into canonical order and drops the accents among them.
 *
 * The tokenizer library gives places out by rank: the first code point that is its character's first takes the first
 * place, whichever mark it is after sorting; further parts of a character share the place before them.
 */
class Marks {
  private codes: number[] = [];
  private ranks: number[] = [];
  private further: boolean[] = [];
  private starts: number[] = [];
  private ends: number[] = [];
  private start = 0;
  private end = 0;

  constructor(private readonly sink: Sink) {}

  take(code: number, start: number, end: number, inserted: boolean): void {
    const parts = decomposition(code);
    if (!parts) {
      this.push(code, start, end, inserted);
      return;
    }
    for (let place = 0; place < parts.length; place++) this.push(parts[place]!, start, end, inserted || place > 0);
  }

  flush(): void {
    const { codes, ranks, further } = this;
    const order = codes.length > 1 ? codes.map((_, place) => place).sort((a, b) => ranks[a]! - ranks[b]!) : null;
    let used = 0;
    for (let place = 0; place < codes.length; place++) {
      const from = order ? order[place]! : place;
      if (!further[from]) {
        this.start = this.starts[used]!;
        this.end = this.ends[used++]!;
      }
      this.emit(codes[from]!);
    }
    codes.length = ranks.length = further.length = this.starts.length = this.ends.length = 0;
  }

  private emit(code: number): void {
    if (!(libraryClass(code) & accent)) this.sink(code, this.start, this.end);
  }

  private push(code: number, start: number, end: number, inserted: boolean): void {
    const rank = combiningClass(code);
    if (rank === 0) {
      // What is no mark stays before the marks that follow: it need not wait for them.
      if (this.codes.length) this.flush();
      if (!inserted) [this.start, this.end] = [start, end];
      this.emit(code);
      return;
    }
    this.codes.push(code);
    this.ranks.push(rank);
    this.further.push(inserted);
    if (!inserted) {
      this.starts.push(start);
      this.ends.push(end);
    }
  }
}
