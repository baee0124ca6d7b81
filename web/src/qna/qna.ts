/**
 * The calls of tfjs-models/qna, answered by our reader: a page that used that package only changes where it loads
 * it from.
 *
 * What differs on purpose: the first and the last word can be answers, `endIndex` is always exclusive, nothing is
 * listed twice, and neither a long question nor a short passage is an error.
 */

import { InputError, shown } from "../errors";
import { type Places, type Reader, open } from "../reader/load";

export interface ModelConfig {
  /** The address of a Pocketbert model folder. */
  modelUrl: string;
  /** Has no effect: nothing is fetched from there. */
  fromTFHub?: boolean;
}

export interface Answer {
  text: string;
  /** `passage.slice(startIndex, endIndex) === text`. */
  startIndex: number;
  endIndex: number;
  /** The sum of the model's start and end logits. */
  score: number;
}

export interface QuestionAndAnswer {
  /** At most five answers, the likeliest first; none if the passage has none. */
  findAnswers(question: string, context: string): Promise<Answer[]>;
  /** End the worker and give all memory back. */
  dispose(): void;
}

const ANSWERS = 5;
const BLANK = /^[\s\x1c-\x1f\x85]*$/; // as Python, and so our reader, sees blanks

export async function loadModel(config: ModelConfig | undefined, places: Places): Promise<QuestionAndAnswer> {
  if (config !== undefined && typeof config?.modelUrl !== "string")
    throw new InputError(
      `the configuration is ${shown(config)}; give {modelUrl: "the address of a model folder"}, or nothing`,
    );
  const reader = await open(config ? { model: config.modelUrl } : {}, places);
  return {
    findAnswers: (question, context) => findAnswers(reader, question, context),
    dispose: () => reader.dispose(),
  };
}

async function findAnswers(reader: Reader, question: string, context: string): Promise<Answer[]> {
  if (typeof question !== "string" || typeof context !== "string")
    throw new InputError(
      `findAnswers got ${shown(question)} and ${shown(context)}; give a question and a passage, both as strings`,
    );
  if (BLANK.test(question) || BLANK.test(context)) return [];
  // Every window: whoever asks for the five best expects them from the whole passage.
  const choices = { topK: ANSWERS, read: "all", longQuestion: "cut" } as const;
  const { answers, questionCut } = await reader.answer(question, context, choices);
  if (questionCut)
    console.warn(`the last ${questionCut} tokens of the question were left out: no more fit into the model`);
  return answers.map(({ text, start, end, logit }) => ({ text, startIndex: start, endIndex: end, score: logit }));
}
