/** The panel's lower part: it shows a state. Whatever comes from a page is put in as text, never as markup. */

import type { Answer } from "../../src/reader/answer";
import { type Outcome, type State, isBusy } from "./state";
import { percent, wordsFor } from "./words";

/** What can be clicked. */
export interface Actions {
  stop(): void;
  again(): void;
  readAll(): void;
  guess(): void;
  show(number: number): void;
  step(by: number): void;
}

export class View {
  private shown: State | undefined;

  constructor(
    private readonly root: HTMLElement,
    /** Where screen readers hear of what is new. */
    private readonly status: HTMLElement,
    private readonly actions: Actions,
  ) {}

  render(state: State): void {
    const before = this.shown;
    this.shown = state;
    const { headline, details, tone } = wordsFor(state);
    this.root.dataset["kind"] = state.kind;
    if (before?.kind === "answers" && state.kind === "answers" && before.outcome === state.outcome) {
      this.choose(state.current);
      return;
    }
    if (before?.kind === state.kind && isBusy(state)) {
      // In place: a button that is replaced while it is pressed is not clicked.
      this.root.querySelector(".details")!.replaceChildren(...details.map((text) => element("p", "", text)));
      this.advance(state);
      return;
    }
    const title = element("h1", "headline", headline);
    const parts: Node[] = [title];
    if (state.kind === "answers") parts.push(this.answers(state.outcome));
    const said = element("div", "details");
    said.append(...details.map((text) => element("p", "", text)));
    parts.push(said);
    if (isBusy(state)) parts.push(element("progress", "progress"), this.button("Stop", this.actions.stop, "Esc"));
    parts.push(...this.offers(state));
    this.root.dataset["tone"] = tone;
    this.root.replaceChildren(...parts);
    this.advance(state);
    if (state.kind === "answers") this.choose(state.current);
    else this.status.textContent = [headline, ...(isBusy(state) ? [] : details)].join(". ");
  }

  /** How far it has come; not known yet is a moving bar. */
  private advance(state: State): void {
    const bar = this.root.querySelector("progress");
    if (!bar) return;
    bar.setAttribute("aria-label", wordsFor(state).headline);
    let [value, max] = [0, 0];
    if (state.kind === "reading") [value, max] = [state.windows, state.of];
    if (state.kind === "loading") [value, max] = [state.loaded, state.total];
    if (!max) bar.removeAttribute("value");
    else [bar.max, bar.value] = [max, value];
  }

  private answers({ answers }: Outcome): HTMLElement {
    const list = element("ol", "answers");
    list.setAttribute("aria-label", "Answers, the likeliest first");
    list.append(...answers.map((answer, number) => this.answer(answer, number)));
    const box = element("div", "found");
    if (answers.length > 1) {
      const bar = element("div", "steps");
      const back = this.button("‹", () => this.actions.step(-1), "Shift + Enter");
      const on = this.button("›", () => this.actions.step(1), "Enter");
      back.setAttribute("aria-label", "Previous answer");
      on.setAttribute("aria-label", "Next answer");
      bar.append(element("span", "place"), back, on);
      box.append(bar);
    }
    box.append(list);
    return box;
  }

  private answer(answer: Answer, number: number): HTMLElement {
    const { sentence, start, end, score, text } = answer;
    const card = element("button", "answer");
    card.type = "button";
    card.addEventListener("click", () => this.actions.show(number));
    const context = element("span", "sentence");
    context.append(
      sentence.text.slice(0, start - sentence.start),
      element("mark", "", sentence.text.slice(start - sentence.start, end - sentence.start)),
      sentence.text.slice(end - sentence.start),
    );
    const bar = element("span", "bar");
    bar.style.setProperty("--score", String(score));
    const line = element("span", "score");
    line.append(bar, element("span", "percent", percent(score)));
    const words = element("span", "words", text);
    for (const part of [words, context]) part.dir = "auto"; // Arabic and Hebrew begin on the right
    card.append(words, context, line);
    const item = element("li", "");
    item.append(card);
    return item;
  }

  /** Mark the answer that the page shows, and keep the keyboard where it was. */
  private choose(current: number): void {
    const cards = [...this.root.querySelectorAll<HTMLElement>(".answer")];
    const hadFocus = cards.some((card) => card === document.activeElement);
    cards.forEach((card, number) => {
      if (number === current) card.setAttribute("aria-current", "true");
      else card.removeAttribute("aria-current");
    });
    const place = this.root.querySelector(".place");
    if (place) place.textContent = `${current + 1} of ${cards.length}`;
    const card = cards[current]!;
    if (hadFocus) card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
    const said = [".words", ".percent"].map((part) => card.querySelector(part)!.textContent);
    this.status.textContent = `Answer ${current + 1} of ${cards.length}: ${said.join(", ")}`;
  }

  private offers(state: State): Node[] {
    if (state.kind === "answers" && state.outcome.windows < state.outcome.of)
      return [this.button("Read all of the page", this.actions.readAll)];
    if (state.kind === "nothing" && state.outcome.answers.length)
      return [this.button("Show the nearest words", this.actions.guess)];
    if (state.kind === "changed" || state.kind === "stopped") return [this.button("Ask again", this.actions.again)];
    if (state.kind === "failed" || state.kind === "empty") return [this.button("Try again", this.actions.again)];
    return [];
  }

  private button(text: string, action: () => void, key?: string): HTMLButtonElement {
    const button = element("button", "action", text);
    button.type = "button";
    if (key) button.title = key;
    button.addEventListener("click", action);
    return button;
  }
}

function element<N extends keyof HTMLElementTagNameMap>(
  name: N,
  style: string,
  text?: string,
): HTMLElementTagNameMap[N] {
  const made = document.createElement(name);
  if (style) made.className = style;
  if (text !== undefined) made.textContent = text;
  return made;
}
