/** The page: what was given to read, what is asked, and what the reader says. */

import { type Answer, type Reader, type Result, load } from "../src/index";
import { answerItem, percent } from "./answers";
import { breathe } from "./breathe";
import type { Content } from "./content";
import { EXAMPLES, type Example } from "./examples";
import { listen } from "./inputs";
import { checkPrograms, keep, manifest } from "./offline";
import { fromFile } from "./sources/files";
import { fromHtml } from "./sources/html";
import { fromText } from "./sources/text";
import { Status, element, plural } from "./status";
import { View } from "./view";

const SHOWN = 5; // answers
const SHORT = 500; // words; all of such a text is read in a second
const GUESSES = 2; // shown where there is no answer
const KEPT = "Kept in this browser: it works without a network now.";
const PLAUSIBLE = 0.02; // runner-ups that are less likely only distract

const question = element<HTMLInputElement>("question");
const view = new View(element("paper"));
const status = new Status();

let reader: Reader | null = null;
let content: Content | null = null;
let reading: AbortController | null = null;
let waiting = false; // a question was asked before the reader was ready
let answers: readonly Answer[] = [];
let current = 0;
let asked = "";

listen({
  ask: () => void ask(),
  step,
  escape,
  text: (text) => void take(() => fromText(text)),
  html: (html) => void take(() => fromHtml(html)),
  file: (file) => void take(() => fromFile(file, (pages, of) => status.opening(file.name, pages, of))),
  another,
  retry: () => (reader ? void ask() : void start()),
  readAll: () => void ask("all"),
});
element("examples").append(...EXAMPLES.map(exampleItem));
void start();

/** Load the reader, then keep everything for later visits without a network. */
async function start(): Promise<void> {
  status.loading(0, 0);
  const loading = new AbortController();
  try {
    const bundle = await manifest();
    const checking = bundle ? checkPrograms(bundle) : Promise.resolve();
    checking.catch(() => loading.abort());
    const opening = load({
      signal: loading.signal,
      progress: ({ stage, loaded, total }) => (stage === "files" ? status.loading(loaded, total) : status.warming()),
    });
    // If a program is not what it should be, that is why it failed, whatever else it says.
    const [checked, opened] = await Promise.allSettled([checking, opening]);
    for (const outcome of [checked, opened]) if (outcome.status === "rejected") throw outcome.reason;
    reader = await opening;
    if (waiting) void ask();
    else rest();
    if (bundle && (await keep())) element("offline").textContent = KEPT;
  } catch (error) {
    status.failed("The reader cannot be loaded", error as Error, "Try again");
  }
}

/** Show a text, whatever it was made from; the newest wins. */
let taking = 0;
async function take(make: () => Promise<Content>, questions: readonly string[] = []): Promise<void> {
  const turn = ++taking;
  stop();
  forget();
  try {
    const made = await make();
    await breathe(); // what was made and what is shown are tasks of their own
    if (turn !== taking) return;
    if (!made.text.trim()) throw new Error("there is nothing to read in it; give something with words");
    content = made;
    document.body.dataset["text"] = "shown";
    const { title, form } = made.about;
    const about = element("about");
    about.textContent = [title, form, plural(made.words, "word")].filter(Boolean).join(" · ");
    about.hidden = false;
    element("empty").hidden = true;
    element("paper").hidden = false;
    element("another").hidden = false;
    suggest(questions);
    scrollTo({ top: 0, behavior: "instant" });
    question.focus({ preventScroll: true });
    if (reader) rest();
    await view.show(made);
  } catch (error) {
    if (turn === taking && (error as Error).name !== "AbortError") status.failed("This cannot be read", error as Error);
  }
}

async function ask(wanted: "fast" | "all" = "fast"): Promise<void> {
  const words = question.value.trim();
  if (!words || !content) {
    (words ? element("draft") : question).focus();
    status.say(words ? "Give a text first." : "Type a question first.");
    return;
  }
  if (words === asked && answers.length && wanted === "fast") {
    step(1);
    return;
  }
  stop();
  forget();
  if (!reader) {
    waiting = true;
    status.say("The question will be answered when the reader is ready.");
    return;
  }
  waiting = false;
  const own = (reading = new AbortController());
  status.reading(0, 0);
  try {
    const result = await reader.answer(words, content.text, {
      topK: SHOWN,
      read: content.words < SHORT ? "all" : wanted,
      signal: own.signal,
      longQuestion: "cut",
      progress: (windows, of) => own === reading && status.reading(windows, of),
    });
    if (own !== reading) return;
    reading = null;
    asked = words;
    show(result);
  } catch (error) {
    if (own !== reading) return; // stopped, and whoever stopped it has said so
    reading = null;
    status.failed("The question cannot be answered", error as Error);
  }
}

function show(result: Result): void {
  answers = result.answers.filter(({ score }, place) => !place || score >= PLAUSIBLE);
  const list = element("answers");
  list.replaceChildren(...answers.map((answer, number) => answerItem(answer, () => look(number))));
  element("found").hidden = !answers.length;
  if (answers.length) {
    status.answered(result, answers.length);
    look(0);
  } else {
    status.none(result);
    const near = result.candidates.filter(({ score }) => score >= PLAUSIBLE).slice(0, GUESSES);
    list.replaceChildren(...near.map((answer) => answerItem(answer, () => glance(answer))));
    element("found").hidden = !near.length;
    element("found").dataset["kind"] = "guesses";
    element("place").textContent = "The nearest words, which are probably not it";
  }
}

/** Look at one of the answers: in the list, and in the text. */
function look(number: number): void {
  current = number;
  const answer = answers[number]!;
  element("found").dataset["kind"] = answers.length === 1 ? "answer" : "answers";
  element("place").textContent = `Answer ${number + 1} of ${answers.length}`;
  for (const [place, item] of [...element("answers").children].entries()) {
    const button = item.firstElementChild!;
    if (place === number) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  view.mark(answers.map(({ start, end }, place) => ({ mark: place === number ? "answer" : "other", start, end })));
  view.scrollTo(answer.start, answer.end, covered());
  status.say(
    `Answer ${number + 1} of ${answers.length}, ${percent(answer.score)}: ${answer.text}. ${answer.sentence.text}`,
  );
}

/** Look at words that are no answer. */
function glance({ start, end }: Answer): void {
  view.mark([{ mark: "other", start, end }]);
  view.scrollTo(start, end, covered());
}

function step(by: 1 | -1): void {
  if (answers.length) look((current + by + answers.length) % answers.length);
}

/** Stop reading, or, if nothing is being read, clear the answer. */
function escape(): void {
  if (reading) {
    stop();
    status.stopped();
  } else if (asked) {
    forget();
    rest();
    question.select();
  }
}

function stop(): void {
  const own = reading;
  reading = null;
  waiting = false;
  own?.abort();
}

/** Take the marks and the answers of the last question away. */
function forget(): void {
  answers = [];
  asked = "";
  view.unmark();
  element("found").hidden = true;
  element("answers").replaceChildren();
}

/** Back to the choice of a text. */
function another(): void {
  taking++;
  stop();
  forget();
  view.clear();
  content = null;
  document.body.dataset["text"] = "none";
  for (const name of ["about", "paper", "another", "suggestions"]) element(name).hidden = true;
  element("empty").hidden = false;
  question.value = "";
  const draft = element<HTMLTextAreaElement>("draft");
  draft.value = "";
  draft.focus();
  if (reader) rest();
}

function rest(): void {
  status.ready(content !== null);
}

function suggest(questions: readonly string[]): void {
  const place = element("suggestions");
  place.hidden = !questions.length;
  place.replaceChildren(
    ...questions.map((words) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words;
      button.addEventListener("click", () => {
        question.value = words;
        void ask();
      });
      return button;
    }),
  );
}

function exampleItem(example: Example): HTMLLIElement {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  const [title, kind] = [document.createElement("strong"), document.createElement("span")];
  title.textContent = example.title;
  kind.textContent = example.kind;
  button.append(title, kind);
  button.addEventListener("click", () => {
    const make = () => fromText(example.text, { title: example.title, form: example.kind });
    void take(make, example.questions);
  });
  item.append(button);
  return item;
}

/** How much of the window the question covers: on a phone it stays at the top. */
function covered(): { top: number; bottom: number } {
  const panel = document.querySelector(".ask")!;
  const { bottom, width } = panel.getBoundingClientRect();
  const above = getComputedStyle(panel).position === "sticky" && width > 0.8 * innerWidth;
  return { top: above ? Math.max(0, bottom) : 0, bottom: 0 };
}
