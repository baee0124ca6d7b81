/** One tab's question, from the asking to the highlighted words. */

import type { Answer, Result } from "../../src/reader/answer";
import type { PageReport } from "../page/calls";
import type { Model } from "./model";
import { Refused, TabPage } from "./page";
import { type Outcome, type State, isBusy } from "./state";

const ANSWERS = 5; // at most
const LEAST = 0.01; // the probability below which a further answer is noise
const TRIES = 2; // for a page that changes while it is read

export class TabInquiry {
  question = "";
  state: State = { kind: "ready" };
  private readonly page: TabPage;
  private controller = new AbortController();

  constructor(
    tabId: number,
    private readonly model: Model,
    private readonly changed: (inquiry: TabInquiry) => void,
  ) {
    this.page = new TabPage(tabId);
  }

  /** The icon was clicked, which lets us read the page, if anything does. */
  async invite(): Promise<void> {
    this.page.invited = true;
    await this.look();
  }

  /** The tab is on its way to another page. */
  async leave(): Promise<void> {
    this.page.invited = false;
    await this.look();
  }

  /** See whether the page may be read, after a click or on the way to another page, where what was found is over. */
  async look(): Promise<void> {
    if (this.state.kind === "looking" || (await this.page.isThere())) return;
    this.controller.abort();
    this.become((await this.page.refusal()) ?? { kind: "ready" });
  }

  /** Ask the page as it is now. "all" reads every window, whatever the first ones promise. */
  async ask(question: string, read: "fast" | "all" = "fast"): Promise<void> {
    this.controller.abort();
    const { signal } = (this.controller = new AbortController());
    this.question = question;
    const become = (state: State) => {
      if (!signal.aborted) this.become(state);
    };
    try {
      become({ kind: "looking" });
      for (let round = 1; round <= TRIES; round++) {
        const report = await this.page.read();
        const reader = await this.model.ready(({ stage, loaded, total }) => {
          // How long the engine will take is not known: a full bar would lie.
          become({ kind: "loading", loaded, total: stage === "files" ? total : 0 });
        }, signal);
        become({ kind: "reading", windows: 0, of: 0 });
        const result = await reader.answer(question, report.text, {
          topK: ANSWERS,
          read,
          longQuestion: "cut",
          signal,
          progress: (windows, of) => become({ kind: "reading", windows, of }),
        });
        const outcome = outcomeOf(result, report, round > 1);
        if (!result.found) return become({ kind: "nothing", outcome });
        if (signal.aborted) return;
        if ((await this.page.show(outcome.answers, 0)) === "shown")
          return become({ kind: "answers", outcome, current: 0, sure: true });
      }
      become({ kind: "changed" });
    } catch (error) {
      if (error instanceof Refused) become(error.refusal);
      else become({ kind: "failed", message: (error as Error).message });
    }
  }

  /** Stop what is under way. */
  stop(): void {
    if (!isBusy(this.state)) return;
    this.controller.abort();
    const { windows, of } = this.state.kind === "reading" ? this.state : { windows: 0, of: 0 };
    this.become({ kind: "stopped", windows, of });
  }

  /** Show another of the answers; the next one after the last is the first. */
  async show(number: number): Promise<void> {
    if (this.state.kind !== "answers") return;
    const { outcome, sure } = this.state;
    await this.turn(outcome, (number + outcome.answers.length) % outcome.answers.length, sure);
  }

  async step(by: number): Promise<void> {
    if (this.state.kind === "answers") await this.show(this.state.current + by);
  }

  /** Show the likeliest words, although the reader does not take them for an answer. */
  async guess(): Promise<void> {
    if (this.state.kind !== "nothing" || !this.state.outcome.answers.length) return;
    await this.turn(this.state.outcome, 0, false);
  }

  /** Take everything back: the colours in the page, and what the panel says. */
  async clear(): Promise<void> {
    this.controller.abort();
    this.question = "";
    await this.page.clear();
    this.become((await this.page.refusal()) ?? { kind: "ready" });
  }

  /** Colour an answer in the page, then say so. */
  private async turn(outcome: Outcome, current: number, sure: boolean): Promise<void> {
    const asked = this.state;
    const shown = await this.page.show(outcome.answers, current);
    if (this.state !== asked) return; // another question was asked meanwhile
    if (shown === "shown") this.become({ kind: "answers", outcome, current, sure });
    else await this.find(outcome, current, sure);
  }

  /** The page has changed: look for the same answers in its new text, and if they are gone, ask it again. */
  private async find(outcome: Outcome, current: number, sure: boolean): Promise<void> {
    const { signal } = this.controller;
    try {
      const { text } = await this.page.read();
      const answers = outcome.answers.map((answer) => moved(answer, text));
      if (signal.aborted) return;
      if (answers.every((answer) => answer !== null)) {
        const found = { ...outcome, answers };
        if ((await this.page.show(answers, current)) === "shown")
          return this.become({ kind: "answers", outcome: found, current, sure });
      }
      await this.ask(this.question);
    } catch (error) {
      this.become(error instanceof Refused ? error.refusal : { kind: "changed" });
    }
  }

  private become(state: State): void {
    this.state = state;
    this.changed(this);
  }
}

function outcomeOf(result: Result, { text, closedFrames }: PageReport, again: boolean): Outcome {
  return {
    answers: result.candidates.filter(({ score }, number) => number === 0 || score >= LEAST),
    words: text.split(/\s+/).length,
    windows: result.read.windows,
    of: result.read.of,
    closedFrames,
    questionCut: result.questionCut > 0,
    again,
  };
}

/** The same answer in the same sentence of another text; null if that sentence is not there exactly once. */
function moved(answer: Answer, text: string): Answer | null {
  const { sentence } = answer;
  const start = text.indexOf(sentence.text);
  if (start < 0 || text.indexOf(sentence.text, start + 1) >= 0) return null;
  const shift = start - sentence.start;
  return {
    ...answer,
    start: answer.start + shift,
    end: answer.end + shift,
    sentence: { text: sentence.text, start, end: start + sentence.text.length },
  };
}
