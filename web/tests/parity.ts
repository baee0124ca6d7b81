/**
 * Answers one JSON request a line, for the tests that compare this package with Python.
 *
 * node build/parity.js FOLDER, where FOLDER has a vocab.txt or a tokenizer.json, and may have a
 * tokenizer_config.json.
 */

import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { batches } from "../src/reader/batches";
import { Inquiry } from "../src/reader/inquiry";
import { choicesOf } from "../src/reader/options";
import { QuestionAnswerer } from "../src/reader/questions";
import { readCalibration } from "../src/text/calibration";
import { sentenceAround } from "../src/text/sentences";
import { fromTokenizerJson, fromVocabTxt } from "../src/text/vocabulary";

const read = (name: string) => readFileSync(`${process.argv[2]}/${name}`, "utf8");
const json = (name: string) => (existsSync(`${process.argv[2]}/${name}`) ? JSON.parse(read(name)) : undefined);
const whole = json("tokenizer.json");
const config = json("tokenizer_config.json") ?? {};
const tokenizer = whole ? fromTokenizerJson(whole, config) : fromVocabTxt(read("vocab.txt"), config);

const neutral = {
  window: 384,
  overlap: 128,
  max_answer_length: 30,
  temperature: 1,
  slope: 1,
  bias: 0,
  threshold: 0.5,
};
const reader = (calibration: object) =>
  new QuestionAnswerer({ tokenizer, calibration: readCalibration({ ...neutral, ...calibration }), positions: null });
const pieces = reader({}).tokenizer;

/** Read by logits that Python drew for each window, in the order and up to the point that the inquiry wants. */
function inquire(request: {
  question: string;
  passages: string[];
  calibration: object;
  options: object;
  logits: [number[], number[]][];
}) {
  const choices = choicesOf(request.options);
  const inquiry: Inquiry = reader(request.calibration).inquiry(request.question, request.passages, choices);
  const { plan } = inquiry;
  const windows = plan.stretches.map((_, number) => {
    const { inputIds, tokenTypeIds, best, firstToken, documentStart } = plan.window(number);
    return { inputIds: [...inputIds], tokenTypeIds: [...tokenTypeIds], best, firstToken, documentStart };
  });
  const order: number[] = [];
  while (request.logits.length && !inquiry.done)
    for (const number of inquiry.take(128)) {
      order.push(number);
      inquiry.hear(number, plan.window(number), ...request.logits[number]!);
    }
  return { windows, order, result: request.logits.length ? inquiry.result() : null };
}

const handlers: Record<string, (request: never) => unknown> = {
  tokens: ({ text }: { text: string }) => {
    const { ids, starts, ends } = pieces.tokens(text);
    return [[...ids], [...starts], [...ends]];
  },
  sentence: ({ text, start, end }: { text: string; start: number; end: number }) => sentenceAround(text, start, end),
  batches: ({ lengths }: { lengths: number[] }) => batches(lengths),
  inquire,
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  process.stdout.write(JSON.stringify(handlers[request.ask]!(request as never)) + "\n");
}
