/**
 * Windows: a document longer than a model can read, as overlapping stretches behind the same question.
 *
 * Every token of the document is in a window, and in exactly one window it is `best`: there it has the most context
 * on its poorer side, so that an answer counts once and where it was read best.
 */

import { InputError } from "../errors";

const LEAST_ROOM = 32; // tokens of the document in a window; with fewer there is nothing to understand
const DEFAULT_OVERLAP = 128;
export const SPECIAL_TOKENS = 3; // [CLS] question [SEP] stretch [SEP]

export interface Window {
  inputIds: Int32Array;
  tokenTypeIds: Uint8Array;
  /** Whether this is the window in which that token of the stretch has the most context. */
  best: readonly boolean[];
  /** The number, in the document, of the first token of the stretch. */
  firstToken: number;
  /** The position in `inputIds` of the first token of the stretch. */
  documentStart: number;
}

/** How many tokens of a document fit beside a question of so many, and how far apart windows begin. */
export function roomAndStep(
  question: number,
  maxLength: number,
  overlap: number | null,
): [room: number, step: number] {
  const room = maxLength - question - SPECIAL_TOKENS;
  if (room < LEAST_ROOM)
    throw new InputError(
      `a question of ${question} tokens leaves ${Math.max(room, 0)} of ${maxLength} for the document; ` +
        `at least ${LEAST_ROOM} are needed: shorten the question, or give a larger window`,
    );
  const half = Math.floor(room / 2);
  return [room, room - Math.min(overlap ?? DEFAULT_OVERLAP, half)];
}

/** The longest question, in tokens, that leaves room for a document. */
export function longestQuestion(maxLength: number): number {
  return maxLength - SPECIAL_TOKENS - LEAST_ROOM;
}

/** `[CLS] question [SEP] stretch of the document [SEP]`. */
export function framed(
  questionIds: Int32Array,
  stretch: Int32Array,
  marks: { cls: number; sep: number },
  rest: Pick<Window, "best" | "firstToken">,
): Window {
  const documentStart = questionIds.length + 2;
  const inputIds = new Int32Array(documentStart + stretch.length + 1).fill(marks.sep);
  inputIds[0] = marks.cls;
  inputIds.set(questionIds, 1);
  inputIds.set(stretch, documentStart);
  const tokenTypeIds = new Uint8Array(inputIds.length).fill(1, documentStart);
  return { inputIds, tokenTypeIds, documentStart, ...rest };
}

/**
 * BERT's max-context rule for one window; ties go to the earlier window.
 *
 * With an overlap of at most half of the room only one neighbour holds a token too: the previous window, which is
 * full, or the following one, which may be short.
 */
export function mostContext(
  length: number,
  following: number,
  room: number,
  step: number,
  hasPrevious: boolean,
): boolean[] {
  const context = (position: number, size: number) => Math.min(position, size - 1 - position) + 0.01 * size;
  return Array.from({ length }, (_, place) => {
    const here = context(place, length);
    if (hasPrevious && place + step < room && context(place + step, room) >= here) return false;
    return !(following && place >= step && context(place - step, following) > here);
  });
}
