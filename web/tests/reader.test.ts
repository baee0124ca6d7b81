import { createHash, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { CheckpointError, InputError, PocketbertError, revived } from "../src/errors";
import { DEFAULTS, type Options, choicesOf } from "../src/reader/options";
import { agree } from "../src/reader/output";
import { QuestionAnswerer } from "../src/reader/questions";
import { ownDigest, sha256 } from "../src/reader/sha256";
import { NEUTRAL } from "../src/text/calibration";
import { fromVocabTxt } from "../src/text/vocabulary";
import type { Window } from "../src/text/windows";

const WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "gold", "is", "what", "the", "river", "##s", "?", "."];

/** A reader that is sure of one word; its logits depend on nothing else. */
const run = async (windows: readonly Window[]) =>
  windows.map(({ inputIds }) => {
    const logits = Float32Array.from(inputIds, (id) => (id === 5 ? 10 : id === 2 ? 0 : -6));
    return { starts: logits, ends: logits };
  });
const reader = (positions: number | null = 64) =>
  new QuestionAnswerer({
    tokenizer: fromVocabTxt(WORDS.join("\n")),
    calibration: { ...NEUTRAL, window: 48, overlap: 8 },
    positions,
  });

describe("a reader", () => {
  test("reads the window with the question's words first, and stops there", async () => {
    const passage = `${"the . ".repeat(300)}the river is gold. ${"the . ".repeat(300)}`;
    const seen: number[][] = [];
    const progress = (...values: number[]) => void seen.push(values);
    const result = await reader().answer("what is the river?", [passage], DEFAULTS, run, { progress });
    expect(passage.slice(result.start, result.end)).toBe("gold");
    expect(result.text).toBe("gold");
    expect(result.read.windows).toBe(DEFAULTS.least);
    expect(seen.at(-1)).toEqual([result.read.windows, result.read.of]);
    const all = await reader().answer("what is the river?", [passage], { ...DEFAULTS, read: "all" }, run);
    expect(all.read.complete).toBe(true);
    expect(all.read.tokens).toBe(all.read.ofTokens);
  });

  test("says that there is no answer only when all was read", async () => {
    const result = await reader().answer("what?", ["the river. ".repeat(99)], DEFAULTS, run);
    expect(result).toMatchObject({ found: false, text: "", start: 0, end: 0, answers: [], read: { complete: true } });
    expect(result.score).toBe(result.noAnswer);
    expect(result.candidates).not.toEqual([]);
  });

  test("says from which passage an answer is", async () => {
    const result = await reader().answer("what?", ["the river.", "it is gold."], DEFAULTS, run);
    expect(result.answers[0]).toMatchObject({ text: "gold", document: 1, start: 6, end: 10 });
    expect(result.answers[0]!.sentence).toEqual({ text: "it is gold.", start: 0, end: 11 });
  });

  test("stops where the pause throws", async () => {
    const pause = async () => {
      throw new Error("enough");
    };
    await expect(reader().answer("what?", ["the ".repeat(999)], DEFAULTS, run, { pause })).rejects.toThrow("enough");
  });

  test("refuses a question that leaves no room, or cuts it and says so", async () => {
    const question = "what ".repeat(100);
    const ask = (choices: Partial<Options>) => reader().answer(question, ["is gold"], choicesOf(choices), run);
    await expect(ask({})).rejects.toThrow(/a question of 100 tokens leaves 0 of 48/);
    const result = await ask({ longQuestion: "cut" });
    expect(result).toMatchObject({ text: "gold", questionCut: 100 - (64 - 3 - 32) });
  });

  test.each([
    ["", "text", {}, /the question is empty/],
    ["what?", "\u2003 \n", {}, /the passage is empty/],
    ["w".repeat(10_001), "text", {}, /has 10001 characters; at most 10000/],
    ["what?", "text", { window: 65 }, /window is 65; this model reads at most 64/],
  ])("refuses %j about %j with %j", async (question, passage, options, message) => {
    const asking = reader().answer(question, [passage], choicesOf(options), run);
    await expect(asking).rejects.toThrow(InputError);
    await expect(asking).rejects.toThrow(message);
  });
});

describe("options", () => {
  test("have defaults, for what is undefined too", () => {
    expect(choicesOf({})).toEqual(DEFAULTS);
    expect(choicesOf({ topK: undefined, threshold: 1 } as unknown as Options)).toEqual({ ...DEFAULTS, threshold: 1 });
  });

  test.each([
    [{ topk: 2 }, /there is no option topk; the options are topK, read/],
    [{ topK: 0 }, /topK is 0; it must be a whole number from 1 up/],
    [{ topK: null }, /topK is null/],
    [{ overlap: -1 }, /overlap is -1; it must be a whole number from 0 up/],
    [{ deadline: "1" }, /deadline is "1"; it must be a number from 0 up/],
    [{ threshold: 1.5 }, /threshold is 1.5; it must be a number from 0 to 1/],
    [{ read: "some" }, /read is "some"; allowed are "fast", "all"/],
    [{ overlapping: 1 }, /overlapping is 1; it must be true or false/],
    [{ progress: 1 }, /progress is 1; it must be a function/],
    [{ signal: {} }, /signal is {}; it must be an AbortSignal/],
  ])("that are wrong are refused: %j", (options, message) => {
    expect(() => choicesOf(options as Options)).toThrow(InputError);
    expect(() => choicesOf(options as Options)).toThrow(message);
  });
});

describe("checks", () => {
  test.each([0, 1, 55, 56, 63, 64, 65, 119, 120, 5000])(
    "SHA-256 of %i bytes is that of everybody",
    async (length) => {
      const bytes = new Uint8Array(randomBytes(length));
      const expected = createHash("sha256").update(bytes).digest("hex");
      expect(await sha256(bytes)).toBe(expected);
      expect(Buffer.from(ownDigest(bytes)).toString("hex")).toBe(expected);
    },
  );

  test("engines agree if all their logits do", () => {
    const row = (value: number) => [{ starts: Float32Array.of(1, 2), ends: Float32Array.of(3, value) }];
    expect(agree(row(4), row(4.005))).toBe(true);
    expect(agree(row(4), row(4.1))).toBe(false);
    expect(agree(row(4), row(NaN))).toBe(false);
    expect(agree(row(4), [])).toBe(false);
  });

  test("errors keep their kind on the way out of a worker", () => {
    expect(revived("CheckpointError", "broken")).toBeInstanceOf(CheckpointError);
    expect(revived("RangeError", "out")).toMatchObject({ name: "PocketbertError", message: "RangeError: out" });
    expect(revived("RangeError", "out")).toBeInstanceOf(PocketbertError);
  });
});
