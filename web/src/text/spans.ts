/**
 * From a window's start and end logits to spans: the best ones, and the mass of all.
 *
 * A span starts at token i and ends with token j of the same window, i <= j < i + maxAnswerLength; its score is
 * start[i] + end[j]. The null score of a window is start[0] + end[0], the logits of its [CLS]; a span's log odds
 * are its score less that. Logits shift freely from window to window, log odds do not.
 */

import { InputError } from "../errors";
import type { Window } from "./windows";

/** Logits in double precision; -Infinity where no span may start or end. */
export interface SpanLogits {
  start: Float64Array;
  end: Float64Array;
  null: number;
}

export interface Span {
  first: number;
  last: number;
  score: number;
}

export type Logits = ArrayLike<number>;

/** The logits of a window, with -Infinity wherever a span may not start or end. */
export function maskLogits(window: Window, startLogits: Logits, endLogits: Logits): SpanLogits {
  const size = window.inputIds.length;
  if (startLogits.length < size || endLogits.length < size)
    throw new InputError(
      `a window has ${size} tokens, but ${startLogits.length} start and ${endLogits.length} end logits; ` +
        "each token needs one of both",
    );
  const start = new Float64Array(size).fill(-Infinity);
  const end = new Float64Array(size).fill(-Infinity);
  for (let place = 0; place < size; place++) {
    if (!Number.isFinite(startLogits[place]) || !Number.isFinite(endLogits[place]))
      throw new InputError("the logits of a window hold NaN or infinity; the model or its precision is at fault");
    const token = place - window.documentStart;
    if (token < 0 || token >= window.best.length) continue;
    end[place] = endLogits[place]!;
    if (window.best[token]) start[place] = startLogits[place]!;
  }
  return { start, end, null: startLogits[0]! + endLogits[0]! };
}

/** The best spans, best first; of equal scores the earlier start wins, then the shorter span. */
export function topSpans({ start, end }: SpanLogits, count: number, maxAnswerLength: number): Span[] {
  const scores = band(start, end, maxAnswerLength);
  const held = scores.filter((score) => score > -Infinity).sort();
  if (!held.length) return [];
  const floor = held[Math.max(0, held.length - count)]!;
  const kept: number[] = [];
  scores.forEach((score, place) => {
    if (score >= floor) kept.push(place);
  });
  kept.sort((a, b) => scores[b]! - scores[a]! || a - b);
  return kept.slice(0, count).map((place) => span(place, scores[place]!, maxAnswerLength));
}

/** The same for spans that share no token: the best one, then the best that does not touch it, and so on. */
export function disjointSpans({ start, end }: SpanLogits, count: number, maxAnswerLength: number): Span[] {
  const scores = band(start, end, maxAnswerLength);
  const found: Span[] = [];
  while (found.length < count) {
    let best = -1;
    for (let place = 0; place < scores.length; place++)
      if (scores[place]! > (best < 0 ? -Infinity : scores[best]!)) best = place;
    if (best < 0) break;
    const { first, last, score } = span(best, scores[best]!, maxAnswerLength);
    found.push({ first, last, score });
    // What starts inside goes, and what starts before and does not end before.
    scores.fill(-Infinity, first * maxAnswerLength, (last + 1) * maxAnswerLength);
    for (let row = Math.max(0, first - maxAnswerLength + 1); row < first; row++)
      scores.fill(-Infinity, row * maxAnswerLength + first - row, (row + 1) * maxAnswerLength);
  }
  return found;
}

/**
 * The log of the sum of exp(log odds / temperature) over *all* spans; -Infinity if there is none.
 *
 * The sum over the band factorises into the exponentials of starts and ends. Only positive terms are added: nothing
 * cancels.
 */
export function logMass(logits: SpanLogits, temperature: number, maxAnswerLength: number): number {
  const peakStart = finiteMax(logits.start);
  const peakEnd = finiteMax(logits.end);
  const starts = logits.start.map((value) => Math.exp((value - peakStart) / temperature));
  const ends = logits.end.map((value) => Math.exp((value - peakEnd) / temperature));
  let total = 0;
  for (let length = 0; length < Math.min(maxAnswerLength, starts.length); length++) {
    let part = 0;
    for (let place = 0; place + length < starts.length; place++) part += starts[place]! * ends[place + length]!;
    total += part;
  }
  if (total >= 1e-280) return Math.log(total) + (peakStart + peakEnd - logits.null) / temperature;
  // Where the best start and the best end form no span, the rest may underflow: there the top spans are the sum.
  const rest = topSpans(logits, 20, maxAnswerLength);
  return logSum(rest.map(({ score }) => (score - logits.null) / temperature));
}

/** log(exp(a) + exp(b) + …), without overflow; -Infinity for nothing. */
export function logSum(values: Iterable<number>): number {
  let sum = -Infinity;
  for (const value of values) {
    const larger = Math.max(sum, value);
    if (larger === -Infinity) continue;
    sum = larger + Math.log1p(Math.exp(Math.min(sum, value) - larger));
  }
  return sum;
}

/** The scores of all spans: a row for each first token, a column for each length. */
function band(start: Float64Array, end: Float64Array, maxAnswerLength: number): Float64Array {
  const scores = new Float64Array(start.length * maxAnswerLength).fill(-Infinity);
  for (let first = 0; first < start.length; first++) {
    if (start[first] === -Infinity) continue;
    const longest = Math.min(maxAnswerLength, end.length - first);
    for (let length = 0; length < longest; length++)
      scores[first * maxAnswerLength + length] = start[first]! + end[first + length]!;
  }
  return scores;
}

function span(place: number, score: number, maxAnswerLength: number): Span {
  const first = Math.floor(place / maxAnswerLength);
  return { first, last: first + (place % maxAnswerLength), score };
}

function finiteMax(values: Float64Array): number {
  let peak = -Infinity;
  for (const value of values) if (value > peak) peak = value;
  return Number.isFinite(peak) ? peak : 0;
}
