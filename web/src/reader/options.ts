/** How a question is to be read: every choice with its default, checked in one place. */

import { InputError, shown } from "../errors";

/** The choices that go to the worker. */
export interface Choices {
  /** How many answers at most. */
  topK: number;
  /**
   * "fast" reads the windows that promise an answer first, and stops once the others are unlikely to hold a better
   * one; "all" reads every window. Before "not on this page" is said, both have read all.
   */
  read: "fast" | "all";
  /** Seconds after which no further batch of windows is begun; one is always read. */
  deadline: number | null;
  /** The probability of no answer above which none is given; 1 always answers. null is the model's own. */
  threshold: number | null;
  /** In tokens; null is the model's own, as for the next two. */
  maxAnswerLength: number | null;
  window: number | null;
  overlap: number | null;
  /** Whether an answer that begins or ends inside a word takes in all of it. */
  alignToWords: boolean;
  /** Whether answers may share words. If not, variants of an answer come last, only if there is nothing else. */
  overlapping: boolean;
  /** For "fast": reading goes on until the answer is in an unread window with at most this chance. */
  miss: number;
  /** For "fast": how many windows are read in any case. */
  least: number;
  /**
   * What happens to a question that leaves no room for the passage: an error, or its end is cut and the result
   * says so.
   */
  longQuestion: "refuse" | "cut";
}

/** Called with the windows read so far and the windows there are. */
export type ReadingProgress = (windows: number, of: number) => void;

export interface Options extends Partial<Choices> {
  progress?: ReadingProgress;
  /** Stops the reading; the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
}

export const DEFAULTS: Choices = {
  topK: 1,
  read: "fast",
  deadline: null,
  threshold: null,
  maxAnswerLength: null,
  window: null,
  overlap: null,
  alignToWords: true,
  overlapping: false,
  miss: 0.05,
  least: 3,
  longQuestion: "refuse",
};

const WHOLE = { topK: 1, maxAnswerLength: 1, window: 1, overlap: 0, least: 1 } as const;
const RANGES = { deadline: Infinity, threshold: 1, miss: 1 } as const;
const WORDS = { read: ["fast", "all"], longQuestion: ["refuse", "cut"] } as const;
const FLAGS = ["alignToWords", "overlapping"] as const;

/**
 * The choices in some options, with the defaults for the others; one that does not exist is an error that lists
 * those that do.
 */
export function choicesOf(options: Options): Choices {
  const { progress, signal, ...given } = options;
  if (progress !== undefined && typeof progress !== "function")
    throw new InputError(`progress is ${shown(progress)}; it must be a function of two numbers`);
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new InputError(`signal is ${shown(signal)}; it must be an AbortSignal`);
  const allowed = [...Object.keys(DEFAULTS), "progress", "signal"];
  const unknown = Object.keys(given).filter((name) => !(name in DEFAULTS));
  if (unknown.length)
    throw new InputError(`there is no option ${unknown.join(", ")}; the options are ${allowed.join(", ")}`);
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const choices: Choices = { ...DEFAULTS, ...set };
  check(choices);
  return choices;
}

function check(choices: Choices): void {
  const optional = (name: keyof Choices) => DEFAULTS[name] === null && choices[name] === null;
  for (const [name, lowest] of Object.entries(WHOLE) as [keyof typeof WHOLE, number][]) {
    const value = choices[name];
    if (!optional(name) && !(Number.isInteger(value) && value! >= lowest))
      throw new InputError(`${name} is ${shown(value)}; it must be a whole number from ${lowest} up`);
  }
  for (const [name, highest] of Object.entries(RANGES) as [keyof typeof RANGES, number][]) {
    const value = choices[name];
    if (!optional(name) && !(typeof value === "number" && value >= 0 && value <= highest))
      throw new InputError(
        `${name} is ${shown(value)}; it must be a number from 0 ${highest === Infinity ? "up" : `to ${highest}`}`,
      );
  }
  for (const [name, allowed] of Object.entries(WORDS) as [keyof typeof WORDS, readonly string[]][])
    if (!allowed.includes(choices[name]))
      throw new InputError(`${name} is ${shown(choices[name])}; allowed are ${allowed.map(shown).join(", ")}`);
  for (const name of FLAGS)
    if (typeof choices[name] !== "boolean")
      throw new InputError(`${name} is ${shown(choices[name])}; it must be true or false`);
}
