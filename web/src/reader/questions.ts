/** Questions about texts, answered with the texts' own words, or not at all: all of the work, wherever it is run. */

import { InputError } from "../errors";
import type { Calibration } from "../text/calibration";
import { isBlankText } from "../text/unicode";
import { type Window, longestQuestion } from "../text/windows";
import { WordPiece } from "../text/wordpiece";
import type { Result } from "./answer";
import { batches } from "./batches";
import { Document, Plan } from "./documents";
import type { ReaderFiles } from "./folder";
import { Inquiry } from "./inquiry";
import type { Choices, ReadingProgress } from "./options";
import type { Output } from "./output";

const LONGEST_QUESTION = 10_000; // characters; no window has room for a question of that length
const POOL = 128; // windows at once, out of which batches are put together

/** Gives the logits of a batch of windows. */
export type Run = (windows: readonly Window[]) => Promise<Output>;

export class QuestionAnswerer {
  readonly tokenizer: WordPiece;
  private readonly calibration: Calibration;
  private readonly positions: number | null;
  /** Those of the last question: the next one is mostly about the same page. */
  private documents = new Map<string, Document>();

  constructor(files: Pick<ReaderFiles, "tokenizer" | "calibration" | "positions">) {
    this.tokenizer = new WordPiece(files.tokenizer);
    this.calibration = files.calibration;
    this.positions = files.positions;
  }

  /** Read passages as one document; `pause` is awaited between batches, and what it throws ends the reading. */
  async answer(
    question: string,
    passages: readonly string[],
    choices: Choices,
    run: Run,
    { progress, pause }: { progress?: ReadingProgress; pause?: () => Promise<void> } = {},
  ): Promise<Result> {
    const until = choices.deadline === null ? Infinity : performance.now() + 1000 * choices.deadline;
    const inquiry = this.inquiry(question, passages, choices);
    while (!inquiry.done) {
      const numbers = inquiry.take(POOL);
      for (const places of batches(numbers.map((number) => inquiry.plan.windowLength(number)))) {
        const rows = places.map((place) => ({
          number: numbers[place]!,
          window: inquiry.plan.window(numbers[place]!),
        }));
        const output = await run(rows.map(({ window }) => window));
        rows.forEach(({ number, window }, row) =>
          inquiry.hear(number, window, output[row]!.starts, output[row]!.ends),
        );
        progress?.(inquiry.windowsRead, inquiry.plan.length);
        if (performance.now() >= until) return inquiry.result();
        await pause?.();
      }
    }
    return inquiry.result();
  }

  /** A question that is ready to be read. */
  inquiry(question: string, passages: readonly string[], choices: Choices): Inquiry {
    if (isBlankText(question)) throw new InputError("the question is empty; ask something");
    const cut = choices.longQuestion === "cut";
    const characters = question.length > LONGEST_QUESTION ? [...question].length : question.length;
    if (characters > LONGEST_QUESTION && !cut)
      throw new InputError(
        `the question has ${characters} characters; at most ${LONGEST_QUESTION} are allowed. ` +
          "The text to be searched is the passage",
      );
    if (!passages.length) throw new InputError("there is no passage; give at least one text");
    let ids = this.tokenizer.tokens(question).ids;
    const asked = ids.length;
    let window = choices.window ?? this.calibration.window;
    if (this.positions !== null && window > this.positions)
      throw new InputError(`window is ${window}; this model reads at most ${this.positions} tokens at once`);
    if (cut && ids.length > longestQuestion(window)) {
      window = this.positions ?? window;
      ids = ids.subarray(0, Math.max(0, longestQuestion(window)));
    }
    const documents = passages.map((passage) => this.document(passage));
    this.documents = new Map(documents.map((document) => [document.text, document]));
    const plan = new Plan(ids, documents, window, choices.overlap ?? this.calibration.overlap);
    return new Inquiry(question, plan, this.calibration, choices, asked - ids.length);
  }

  /** A window to try an engine with: as long as they come, with words from all over the vocabulary. */
  trialWindow(): Window {
    const { window } = this.calibration;
    const inputIds = Int32Array.from({ length: window }, (_, place) => (place * 7919) % this.tokenizer.size);
    return { inputIds, tokenTypeIds: new Uint8Array(window), best: [], firstToken: 0, documentStart: window };
  }

  private document(passage: string): Document {
    if (isBlankText(passage))
      throw new InputError("the passage is empty; it must hold the text that the question is about");
    return this.documents.get(passage) ?? new Document(passage, this.tokenizer);
  }
}
