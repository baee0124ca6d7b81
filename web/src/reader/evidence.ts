/**
 * What the windows say that were read so far: their mass, and the spans that could be answers.
 *
 * Of each window the 50 best spans are kept, and the best that share no token: the 50 may all be variants of one
 * answer. A text's probability is the sum over its spans among the 50 of each window; a text that has none there
 * has that of its best span. So a score depends neither on how many answers are asked for nor on the order of
 * reading.
 */

import { type Calibration, KEPT_SPANS, answerable } from "../text/calibration";
import { type Logits, type Span, disjointSpans, logMass, logSum, maskLogits, topSpans } from "../text/spans";
import { isBlankText } from "../text/unicode";
import type { Window } from "../text/windows";

const KEPT_PLACES = 10; // spans of each window that share no token; more if more answers are asked for

/** Number of the window, first and last token of its document: the text of the span and where it stands there. */
export type Locate = (window: number, first: number, last: number) => { text: string; start: number; end: number };

/** A text that could be the answer, and the best of its places. */
export interface Candidate {
  text: string;
  start: number;
  end: number;
  probability: number;
  logit: number;
  window: number;
}

/** A span whose tokens are counted in the document. */
interface Kept {
  window: number;
  first: number;
  last: number;
  logOdds: number;
}

/** Gathers what windows say, in any order. */
export class Evidence {
  /** Number of the window to its log mass, in the order of reading. */
  readonly mass = new Map<number, number>();
  private readonly nulls = new Map<number, number>();
  private readonly bests = new Map<number, Kept>();
  private readonly spans: Kept[] = [];
  private readonly further: Kept[] = [];

  constructor(
    private readonly calibration: Calibration,
    private readonly promise: Float64Array,
    private readonly maxAnswerLength: number,
    private readonly count: number,
  ) {}

  /** Take in the logits of the window that goes by this number. */
  add(number: number, window: Window, startLogits: Logits, endLogits: Logits): void {
    const logits = maskLogits(window, startLogits, endLogits);
    this.mass.set(number, logMass(logits, this.calibration.temperature, this.maxAnswerLength));
    this.nulls.set(number, logits.null);
    const shift = window.firstToken - window.documentStart;
    const keep = ({ first, last, score }: Span): Kept => ({
      window: number,
      first: first + shift,
      last: last + shift,
      logOdds: score - logits.null,
    });
    const top = topSpans(logits, Math.max(KEPT_SPANS, 10 * this.count), this.maxAnswerLength).map(keep);
    const apart = disjointSpans(logits, Math.max(KEPT_PLACES, this.count), this.maxAnswerLength).map(keep);
    if (top[0]) this.bests.set(number, top[0]);
    this.spans.push(...top.slice(0, KEPT_SPANS));
    this.further.push(...top.slice(KEPT_SPANS), ...apart);
  }

  /** The probability that the answer is in what was read. */
  answerable(): number {
    if (!this.mass.size) return 0;
    const promise = [...this.mass.keys()].map((number) => this.promise[number]!);
    return answerable(this.calibration, [...this.mass.values()], promise);
  }

  /** How much of that is due to each window; the shares sum to 1, or are 0 if nowhere is a span. */
  shares(): Map<number, number> {
    const total = this.logTotal();
    const shares = new Map<number, number>();
    for (const [number, mass] of this.mass)
      shares.set(number, total > -Infinity ? Math.exp(mass + Math.log(this.promise[number]!) - total) : 0);
    return shares;
  }

  /** First and last token of the best span of a window; nothing if no span starts there. */
  best(number: number): { first: number; last: number } | undefined {
    return this.bests.get(number);
  }

  /** All texts that could be the answer, the likeliest first. */
  candidates(locate: Locate): Candidate[] {
    const groups = new Map<string, { weights: number[]; best: Candidate }>();
    for (const [kept, summed] of [
      [this.spans, true],
      [this.further, false],
    ] as const)
      for (const { window, first, last, logOdds, weight } of this.rows(kept)) {
        const { text, start, end } = locate(window, first, last);
        if (isBlankText(text)) continue;
        const group = groups.get(text);
        if (group) {
          if (summed) group.weights.push(weight);
        } else {
          const logit = logOdds + this.nulls.get(window)!;
          groups.set(text, { weights: [weight], best: { text, start, end, probability: 0, logit, window } });
        }
      }
    const total = this.logTotal();
    const answerable = this.answerable();
    return (
      [...groups.values()]
        // Rounding may put the only span of a document a hair above its own total.
        .map(({ weights, best }) => ({
          ...best,
          probability: answerable * Math.min(1, Math.exp(logSum(weights) - total)),
        }))
        .sort((a, b) => b.probability - a.probability)
    );
  }

  private logTotal(): number {
    return logSum([...this.mass].map(([number, mass]) => mass + Math.log(this.promise[number]!)));
  }

  /** Spans with their log weights, best first; of equals the earlier. */
  private rows(spans: readonly Kept[]): (Kept & { weight: number })[] {
    return spans
      .map((span) => ({
        ...span,
        weight: span.logOdds / this.calibration.temperature + Math.log(this.promise[span.window]!),
      }))
      .sort((a, b) => b.weight - a.weight || a.window - b.window);
  }
}
