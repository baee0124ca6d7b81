/** One question on its way through a document: which windows come next, what they said, when to stop. */

import type { Calibration } from "../text/calibration";
import { sentenceAround } from "../text/sentences";
import type { Logits } from "../text/spans";
import type { Window } from "../text/windows";
import type { Answer, Read, Result, WindowReport } from "./answer";
import type { Document, Plan } from "./documents";
import { type Candidate, Evidence } from "./evidence";
import type { Choices } from "./options";
import { promises, unreadChance } from "./order";

/** Reads nothing itself: it is asked which windows it wants, and told what they said. */
export class Inquiry {
  private readonly promise: Float64Array;
  private readonly evidence: Evidence;
  private readonly threshold: number;
  /** The numbers of the windows yet to be read, the most promising last. */
  private readonly waiting: number[];

  constructor(
    private readonly question: string,
    readonly plan: Plan,
    calibration: Calibration,
    private readonly choices: Choices,
    private readonly questionCut = 0,
  ) {
    this.threshold = choices.threshold ?? calibration.threshold;
    this.promise = promises(plan);
    const longest = choices.maxAnswerLength ?? calibration.maxAnswerLength;
    this.evidence = new Evidence(calibration, this.promise, longest, choices.topK);
    // Of equals the earlier window: texts begin with what matters.
    this.waiting = Array.from(this.promise.keys())
      .sort((a, b) => this.promise[b]! - this.promise[a]! || a - b)
      .reverse();
  }

  /** How many windows have been read. */
  get windowsRead(): number {
    return this.evidence.mass.size;
  }

  /** Whether nothing is left to read, or nothing that could plausibly change the answer. */
  get done(): boolean {
    if (!this.waiting.length || this.choices.read === "all" || this.windowsRead < this.choices.least)
      return !this.waiting.length;
    const answerable = this.evidence.answerable();
    if (1 - answerable > this.threshold) return false;
    const unread = this.waiting.reduce((sum, number) => sum + this.promise[number]!, 0);
    return unreadChance(unread, answerable) <= this.choices.miss;
  }

  /**
   * The numbers of the next windows to read, at most so many; they are not given out again.
   *
   * Where reading may stop early, few are given out at once: a quarter of what has been read.
   */
  take(count: number): number[] {
    const read = this.windowsRead;
    if (this.choices.read === "fast")
      count = Math.min(count, Math.max(this.choices.least - read, Math.floor(read / 4), 1));
    return this.waiting.splice(Math.max(0, this.waiting.length - count)).reverse();
  }

  /** Take in what a window said. */
  hear(number: number, window: Window, startLogits: Logits, endLogits: Logits): void {
    this.evidence.add(number, window, startLogits, endLogits);
  }

  /** What is known so far. */
  result(): Result {
    const { plan, choices } = this;
    const read: Read = {
      windows: this.windowsRead,
      of: plan.length,
      tokens: plan.tokensOf(this.evidence.mass.keys()),
      ofTokens: plan.tokens,
      complete: this.windowsRead === plan.length,
    };
    const noAnswer = 1 - this.evidence.answerable();
    const all = this.evidence.candidates((window, first, last) => this.locate(window, first, last));
    const chosen = choices.overlapping ? all.slice(0, choices.topK) : this.apart(all);
    const candidates = chosen.map((candidate) => this.answer(candidate, noAnswer, read));
    const found = candidates.length > 0 && noAnswer <= this.threshold;
    const first = found ? candidates[0]! : { text: "", start: 0, end: 0, score: noAnswer };
    return {
      question: this.question,
      answers: found ? candidates : [],
      candidates,
      found,
      noAnswer,
      read,
      windows: this.reports(noAnswer),
      text: first.text,
      start: first.start,
      end: first.end,
      score: first.score,
      questionCut: this.questionCut,
    };
  }

  /** The likeliest that share no words, then, if there are not enough, the others. */
  private apart(candidates: readonly Candidate[]): Candidate[] {
    const { topK } = this.choices;
    const chosen: Candidate[] = [];
    const passed: Candidate[] = [];
    for (const candidate of candidates) {
      if (chosen.length === topK) break;
      const touches = chosen.some(
        (other) =>
          this.documentOf(other.window) === this.documentOf(candidate.window) &&
          candidate.start < other.end &&
          other.start < candidate.end,
      );
      (touches ? passed : chosen).push(candidate);
    }
    return [...chosen, ...passed.slice(0, topK - chosen.length)];
  }

  private answer(candidate: Candidate, noAnswer: number, read: Read): Answer {
    const { text, start, end, probability, logit, window } = candidate;
    const passage = this.documentOf(window).text;
    const [first, last] = sentenceAround(passage, start, end);
    const sentence = { text: passage.slice(first, last), start: first, end: last };
    return {
      text,
      start,
      end,
      score: probability,
      logit,
      noAnswer,
      sentence,
      read,
      document: this.plan.stretches[window]!.document,
    };
  }

  private reports(noAnswer: number): WindowReport[] {
    const reports = [...this.evidence.shares()].map(([number, share]): WindowReport => {
      const { document, first, last } = this.plan.stretches[number]!;
      const { starts, ends } = this.plan.documents[document]!.tokens;
      const span = this.evidence.best(number);
      return {
        document,
        start: first === last ? 0 : starts[first]!,
        end: first === last ? 0 : ends[last - 1]!,
        promise: this.promise[number]!,
        score: (1 - noAnswer) * share,
        best: span ? this.locate(number, span.first, span.last).text : "",
      };
    });
    return reports.sort((a, b) => b.promise - a.promise);
  }

  private locate(window: number, first: number, last: number): { text: string; start: number; end: number } {
    const document = this.documentOf(window);
    const [start, end] = document.characters(first, last, this.choices.alignToWords);
    return { text: document.text.slice(start, end), start, end };
  }

  private documentOf(window: number): Document {
    return this.plan.documents[this.plan.stretches[window]!.document]!;
  }
}
