/** What the panel says: every state in words of its own. */

import { describe, expect, it } from "vitest";
import type { Outcome, State } from "../extension/panel/state";
import { percent, wordsFor } from "../extension/panel/words";

const outcome: Outcome = {
  answers: [],
  words: 1234,
  windows: 9,
  of: 9,
  closedFrames: 0,
  questionCut: false,
  again: false,
};
const states: State[] = [
  { kind: "ready" },
  { kind: "closed" },
  { kind: "forbidden" },
  { kind: "pdf" },
  { kind: "empty", closedFrames: 0 },
  { kind: "looking" },
  { kind: "loading", loaded: 1, total: 2 },
  { kind: "reading", windows: 3, of: 2000 },
  { kind: "stopped", windows: 3, of: 2000 },
  { kind: "answers", outcome, current: 0, sure: true },
  { kind: "answers", outcome, current: 0, sure: false },
  { kind: "nothing", outcome },
  { kind: "changed" },
  { kind: "failed", message: "model.onnx is missing" },
];

describe("the words", () => {
  it("tell every state apart", () => {
    const headlines = states.map((state) => wordsFor(state).headline);
    expect(new Set(headlines).size).toBe(states.length);
  });

  it("never say that something is not on the page unless all of it was read", () => {
    const saying = states.filter((state) => wordsFor(state).headline === "Not on this page");
    expect(saying.map(({ kind }) => kind)).toEqual(["nothing"]);
    expect(wordsFor({ kind: "nothing", outcome }).details).toEqual([
      "1,234 words read from beginning to end: nothing answers this.",
    ]);
  });

  it("say what was left out", () => {
    const rest = { ...outcome, windows: 3, closedFrames: 2, questionCut: true, again: true };
    expect(wordsFor({ kind: "answers", outcome: rest, current: 0, sure: true }).details).toEqual([
      "Read the 3 most promising of 9 parts of the page.",
      "2 parts of this page come from another site and could not be read.",
      "The question is very long; only its beginning was used.",
      "The page changed meanwhile and was read again.",
    ]);
    expect(wordsFor({ kind: "empty", closedFrames: 1 }).details).toContain(
      "A part of this page comes from another site and could not be read.",
    );
  });

  it("never round to certainty", () => {
    expect([0, 0.004, 0.5, 1].map(percent)).toEqual(["under 1 %", "under 1 %", "50 %", "over 99 %"]);
  });
});
