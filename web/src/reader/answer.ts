/** What a reader says: answers with their places and probabilities, and how much of the document it looked at. */

/** The sentence around an answer, `passage.slice(start, end) === text`. */
export interface Sentence {
  text: string;
  start: number;
  end: number;
}

/** How much of a document was read: windows and tokens, of how many. */
export interface Read {
  windows: number;
  of: number;
  tokens: number;
  ofTokens: number;
  /** Whether every window was read. */
  complete: boolean;
}

/** Words of the passage, `passage.slice(start, end) === text`, and how sure the reader is of them. */
export interface Answer {
  text: string;
  /** In UTF-16 units, as strings count here. */
  start: number;
  end: number;
  /** The calibrated probability, over the whole document, that these words are the answer. */
  score: number;
  /** The sum of the model's start and end logits, as it is; comparable within one window only. */
  logit: number;
  /** The probability that what was read holds no answer; the same for all answers of a result. */
  noAnswer: number;
  sentence: Sentence;
  read: Read;
  /** Which of the passages it is from, where several were read as one. */
  document: number;
}

/** What one window said: where it is, what it promised before it was read, and its best words. */
export interface WindowReport {
  document: number;
  /** The first character of the window in its passage. */
  start: number;
  end: number;
  /** The chance that the answer is here, judged by the question's words alone. */
  promise: number;
  /** The probability that the answer is here, judged by the reader. */
  score: number;
  /** The likeliest words of the window. */
  best: string;
}

/**
 * The answers to one question, the likeliest first; none if there is none.
 *
 * `text`, `start`, `end` and `score` are those of the first answer. Without one they are "", 0, 0 and the
 * probability that there is none. "Not on this page" is only said if `read.complete`.
 */
export interface Result {
  question: string;
  answers: Answer[];
  /** The likeliest words, whether they are given as answers or not. */
  candidates: Answer[];
  /** Whether an answer is given: `noAnswer` is within the threshold. */
  found: boolean;
  /** The probability that what was read holds no answer. */
  noAnswer: number;
  read: Read;
  /** What each window that was read said, the most promising first. */
  windows: WindowReport[];
  text: string;
  start: number;
  end: number;
  score: number;
  /** How many tokens of the question were cut off; 0 unless `longQuestion` is "cut". */
  questionCut: number;
}
