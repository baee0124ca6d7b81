import { describe, expect, test } from "vitest";
import { ConfigError, InputError } from "../src/errors";
import { NEUTRAL, answerable, readCalibration, sigmoid } from "../src/text/calibration";
import { type Span, disjointSpans, logMass, logSum, maskLogits, topSpans } from "../src/text/spans";
import { framed, mostContext, roomAndStep } from "../src/text/windows";

const marks = { cls: 101, sep: 102 };
const window = (length: number, best: boolean[] = Array(length).fill(true)) =>
  framed(Int32Array.of(7, 8), new Int32Array(length).fill(9), marks, { best, firstToken: 0 });

/** Numbers that look random and are the same on every run. */
function draws(count: number, seed: number): number[] {
  return Array.from({ length: count }, (_, place) => Math.sin((place + 1) * 12.9898 + seed) * 3);
}

function everySpan(
  length: number,
  from: number,
  longest: number,
  score: (first: number, last: number) => number,
): Span[] {
  const spans: Span[] = [];
  for (let first = from; first < from + length; first++)
    for (let last = first; last < Math.min(first + longest, from + length); last++)
      spans.push({ first, last, score: score(first, last) });
  return spans.sort((a, b) => b.score - a.score || a.first - b.first || a.last - b.last);
}

describe("spans", () => {
  test.each([1, 4, 30])("of at most %i tokens: the best ones and the mass are those of all sums", (longest) => {
    const held = window(20);
    const [starts, ends] = [draws(25, longest), draws(25, longest + 0.5)];
    const logits = maskLogits(held, starts, ends);
    const all = everySpan(20, 4, longest, (first, last) => starts[first]! + ends[last]!);
    expect(topSpans(logits, 10, longest)).toEqual(all.slice(0, 10));
    const apart: Span[] = [];
    for (const span of all)
      if (apart.every((other) => span.last < other.first || span.first > other.last)) apart.push(span);
    expect(disjointSpans(logits, 6, longest)).toEqual(apart.slice(0, 6));
    const exact = Math.log(all.reduce((sum, { score }) => sum + Math.exp((score - logits.null) / 0.7), 0));
    expect(logMass(logits, 0.7, longest)).toBeCloseTo(exact, 10);
  });

  test("start only where the window is the best one", () => {
    const held = window(4, [false, false, true, true]);
    const logits = maskLogits(held, Array(9).fill(1), Array(9).fill(1));
    expect(topSpans(logits, 9, 9).map(({ first, last }) => [first, last])).toEqual([
      [6, 6],
      [6, 7],
      [7, 7],
    ]);
  });

  test("that lie far below the best start and end still have a mass", () => {
    const starts = [0, 0, 0, 0, -2000, 0, 2000, 0];
    const ends = [0, 0, 0, 0, 2000, -2000, -2000, 0];
    expect(logMass(maskLogits(window(3), starts, ends), 1, 1)).toBeCloseTo(Math.log(2), 10);
    expect(logMass(maskLogits(window(0), [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]), 1, 9)).toBe(-Infinity);
  });

  test("are refused where the logits are no numbers or too few", () => {
    expect(() => maskLogits(window(1), [NaN, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0])).toThrow(/NaN or infinity/);
    expect(() => maskLogits(window(1), [0], [0])).toThrow(/6 tokens, but 1 start and 1 end/);
  });
});

describe("windows", () => {
  test("hold the question and the stretch between their marks", () => {
    const { inputIds, tokenTypeIds, documentStart } = window(2);
    expect([...inputIds]).toEqual([101, 7, 8, 102, 9, 9, 102]);
    expect([...tokenTypeIds]).toEqual([0, 0, 0, 0, 1, 1, 1]);
    expect(documentStart).toBe(4);
  });

  test("give every token one window in which it is best", () => {
    const [room, step] = roomAndStep(10, 64, 20);
    const counts = new Array(120).fill(0);
    for (let first = 0; ; first += step) {
      const following = 120 - first > room ? Math.min(120 - first - step, room) : 0;
      const last = Math.min(first + room, 120);
      mostContext(last - first, following, room, step, first > 0).forEach(
        (best, place) => (counts[first + place] += +best),
      );
      if (!following) break;
    }
    expect(counts).toEqual(new Array(120).fill(1));
  });

  test("need some room beside the question", () => {
    expect(() => roomAndStep(100, 128, null)).toThrow(InputError);
    expect(() => roomAndStep(100, 128, null)).toThrow(/a question of 100 tokens leaves 25 of 128/);
    expect(roomAndStep(2, 384, null)).toEqual([379, 251]);
  });
});

describe("calibration", () => {
  test("weighs windows by their promise", () => {
    expect(answerable(NEUTRAL, [0], [1])).toBeCloseTo(0.5, 12);
    expect(answerable(NEUTRAL, [3, -Infinity], [0.5, 0.5])).toBeCloseTo(sigmoid(3 - Math.log(2)), 12);
    expect(sigmoid(-800)).toBe(0);
    expect(sigmoid(Infinity)).toBe(1);
    expect(logSum([])).toBe(-Infinity);
    expect(logSum([1000, 1000])).toBeCloseTo(1000 + Math.log(2), 9);
  });

  test.each([
    [{ ...file(), threshold: 2 }, /threshold is 2; it must lie between 0 and 1/],
    [{ ...file(), temperature: 0 }, /temperature is 0 .* above 0/],
    [{ ...file(), window: 1.5 }, /window is 1.5/],
    [{ ...file(), bias: "0" }, /bias is "0"; it must be a finite number/],
    [{ window: 1 }, /has window; it must have exactly window, overlap/],
    [null, /has null/],
  ])("that cannot be is refused: %j", (values, message) => {
    expect(() => readCalibration(values)).toThrow(ConfigError);
    expect(() => readCalibration(values)).toThrow(message);
  });

  function file() {
    return { window: 9, overlap: 1, max_answer_length: 3, temperature: 1, slope: 1, bias: 0, threshold: 0.5 };
  }
});
