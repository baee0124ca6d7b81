/**
 * Which windows to read first, and when to stop: what the question's own words say before any window is read.
 *
 * Each window gets a BM25 score: the question's words, their five-letter beginnings and its pairs of neighbouring
 * words are looked for, and what is rare among the windows counts more. A soft maximum over the scores is the
 * chance that the answer is in each window, the *promise*.
 */

import { codePoints, isAlphanumeric, isLetter } from "../text/unicode";
import type { Plan } from "./documents";

const SATURATION = 1.5; // BM25's k1: how slowly a word that is repeated stops counting
const SHARPNESS = 0.6; // of the soft maximum
const DOUBT = 0.02; // the share of questions that are worded so differently that every window is as good
const PREFIX = 5; // letters; words that share so many count as related, at half the weight
const RELATED = 0.5;
// Words that ask and are not looked for. They are rare in most texts, so that BM25 would chase them.
const ASKING = new Set("what who whom whose which when where why how many much do does did".split(" "));

/** The chance of each window to hold the answer, before any is read; they sum to 1. */
export function promises(plan: Plan): Float64Array {
  const windows = plan.length;
  const scores = new Float64Array(windows);
  if (windows > 1)
    for (const { counts, weight } of terms(plan)) {
      const holding = counts.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0);
      const rarity = Math.log1p((windows - holding + 0.5) / (holding + 0.5));
      for (let place = 0; place < windows; place++) {
        const count = counts[place]!;
        scores[place]! += (weight * rarity * count * (SATURATION + 1)) / (count + SATURATION);
      }
    }
  const highest = scores.reduce((best, score) => Math.max(best, score), -Infinity);
  const chances = scores.map((score) => Math.exp(SHARPNESS * (score - highest)));
  const total = chances.reduce((sum, chance) => sum + chance, 0);
  return chances.map((chance) => ((1 - DOUBT) * chance) / total + DOUBT / windows);
}

/**
 * The chance that an answer is in what was not read, from the promise of that and the probability that it is in
 * the rest.
 */
export function unreadChance(unread: number, answerable: number): number {
  if (answerable === 1 || unread <= 0) return 0;
  return unread / (unread + answerable / (1 - answerable));
}

interface Term {
  /** How often something that is looked for stands in each window. */
  counts: Int32Array;
  weight: number;
}

function* terms(plan: Plan): Generator<Term> {
  const { tokenizer } = plan;
  const ids = Int32Array.from(plan.documents.flatMap((document) => [...document.tokens.ids]));
  const asked = [...plan.questionIds].filter(
    (id) => tokenizer.kind(id) !== "special" && codePoints(tokenizer.word(id)).some(isAlphanumeric),
  );
  const words = new Set(asked.map((id) => tokenizer.word(id).toLowerCase()).filter((word) => !ASKING.has(word)));
  // A word may have several ids: in upper and in lower case.
  const spellings = new Map<string, Set<number>>();
  const beginnings = new Map<string, Set<number>>();
  for (const id of new Set(ids)) {
    const word = tokenizer.word(id);
    gather(spellings, word.toLowerCase(), id);
    gather(beginnings, beginning(word), id);
  }
  const counts = (marked: (place: number) => boolean) => countMarks(plan, ids.length, marked);
  for (const word of words) {
    const spelled = spellings.get(word);
    yield { counts: counts((place) => spelled?.has(ids[place]!) ?? false), weight: 1 };
    const start = beginning(word);
    if (!start) continue;
    const related = beginnings.get(start);
    yield { counts: counts((place) => related?.has(ids[place]!) ?? false), weight: RELATED };
  }
  for (const pair of new Set(asked.slice(1).map((right, place) => `${asked[place]} ${right}`))) {
    const [left, right] = pair.split(" ").map(Number);
    yield { counts: counts((place) => ids[place] === left && ids[place + 1] === right), weight: RELATED };
  }
}

/** In each window, how many tokens are marked; tokens are counted through all documents. */
function countMarks(plan: Plan, tokens: number, marked: (place: number) => boolean): Int32Array {
  const before = new Int32Array(tokens + 1);
  for (let place = 0; place < tokens; place++) before[place + 1] = before[place]! + (marked(place) ? 1 : 0);
  const begin = [0];
  for (const document of plan.documents) begin.push(begin.at(-1)! + document.length);
  return Int32Array.from(
    plan.stretches,
    ({ document, first, last }) => before[begin[document]! + last]! - before[begin[document]! + first]!,
  );
}

function gather(groups: Map<string, Set<number>>, key: string, id: number): void {
  const group = groups.get(key);
  if (group) group.add(id);
  else groups.set(key, new Set([id]));
}

function beginning(word: string): string {
  const letters = codePoints(word);
  return letters.length >= PREFIX && letters.every(isLetter)
    ? String.fromCodePoint(...letters.slice(0, PREFIX)).toLowerCase()
    : "";
}
