/** Where one tab's question stands: what the panel shows is a function of this and nothing else. */

import type { Answer } from "../../src/reader/answer";

/** Why a page is not read. */
export type Refusal =
  /** The tab was not opened to the extension, or has gone to another site since: a click on the icon is needed. */
  | { kind: "closed" }
  /** The browser lets no extension read such a page. */
  | { kind: "forbidden" }
  | { kind: "pdf" }
  /** The page shows no text. */
  | { kind: "empty"; closedFrames: number };

/** What can be said about a reading that came to its end. */
export interface Outcome {
  answers: readonly Answer[];
  words: number;
  windows: number;
  of: number;
  closedFrames: number;
  /** Whether the end of the question was left out, because it was too long. */
  questionCut: boolean;
  /** Whether the page changed meanwhile and was read again. */
  again: boolean;
}

export type State =
  | { kind: "ready" }
  | Refusal
  | { kind: "looking" }
  | { kind: "loading"; loaded: number; total: number }
  | { kind: "reading"; windows: number; of: number }
  | { kind: "stopped"; windows: number; of: number }
  /** `sure` is false for words that the reader does not take for an answer, shown because the reader was asked to. */
  | { kind: "answers"; outcome: Outcome; current: number; sure: boolean }
  | { kind: "nothing"; outcome: Outcome }
  /** The answers' words are not in the page any more. */
  | { kind: "changed" }
  | { kind: "failed"; message: string };

/** Whether something is under way that can be stopped. */
export function isBusy({ kind }: State): boolean {
  return kind === "looking" || kind === "loading" || kind === "reading";
}
