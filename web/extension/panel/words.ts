/** What the panel says in each state: a headline that is also read aloud, and what to do. */

import type { Outcome, State } from "./state";

export interface Words {
  headline: string;
  details: string[];
  /** How the panel looks: calm in general, and apart where something is wanted or has gone wrong. */
  tone: "plain" | "wanted" | "found" | "none" | "wrong";
}

/** The words for a state. */
export function wordsFor(state: State): Words {
  switch (state.kind) {
    case "ready":
      return plain(
        "Ask this page",
        "Type a question that the page may answer. You will see the answer where it stands.",
        "Enter asks, and then goes to the next answer; Shift + Enter goes back; Esc stops and clears.",
      );
    case "closed":
      return {
        headline: "Not allowed on this page yet",
        details: [
          "Click the Pocketbert icon in the toolbar, or press its shortcut, to allow it.",
          "A page is read only after you ask for it, and what you allow ends when you go to another site.",
        ],
        tone: "wanted",
      };
    case "forbidden":
      return {
        headline: "Not allowed on this page",
        details: [
          "The browser lets no extension read its own pages, its web store or pages without an address. " +
            "Go to an ordinary page and click the icon there.",
          "A file of yours can be read once you allow it in the extension's settings: “Allow access to file URLs”.",
        ],
        tone: "wanted",
      };
    case "pdf":
      return {
        headline: "Not allowed in the PDF viewer",
        details: [
          "The browser lets no extension look into its PDF viewer. " +
            "Save the file; the page that “pocketbert web” opens and the command “pocketbert ask” read PDFs.",
        ],
        tone: "wanted",
      };
    case "empty":
      return {
        headline: "There is no text on this page",
        details: ["If it is still loading, wait for it and ask again.", ...frames(state.closedFrames)],
        tone: "none",
      };
    case "looking":
      return plain("Looking at the page…");
    case "loading":
      return plain("Loading the model…", "Once per panel; it is part of the extension, nothing is downloaded.");
    case "reading":
      return plain("Still reading…", state.of ? partsRead(state.windows, state.of) : "About to begin.");
    case "stopped":
      return plain("Stopped", state.of ? partsRead(state.windows, state.of) : "Nothing was read yet.");
    case "answers":
      return {
        headline: state.sure ? counted(state.outcome.answers.length, "answer") : "Unlikely, but nearest",
        details: notes(state.outcome),
        tone: state.sure ? "found" : "none",
      };
    case "nothing":
      return {
        headline: "Not on this page",
        details: [
          `${counted(state.outcome.words, "word")} read from beginning to end: nothing answers this.`,
          ...notes(state.outcome),
        ],
        tone: "none",
      };
    case "changed":
      return {
        headline: "The page has changed",
        details: ["The words that were found are not there any more. Ask again to read the page as it is now."],
        tone: "none",
      };
    case "failed":
      return {
        headline: "Something went wrong",
        details: ["Try again. If it happens again, install the extension again.", state.message],
        tone: "wrong",
      };
  }
}

/** A probability as people write it. */
export function percent(score: number): string {
  if (score < 0.01) return "under 1 %";
  if (score > 0.99) return "over 99 %";
  return `${Math.round(100 * score)} %`;
}

/** What else is to be known about a reading. */
function notes({ windows, of, closedFrames, questionCut, again }: Outcome): string[] {
  return [
    ...(windows < of ? [`Read the ${number(windows)} most promising of ${number(of)} parts of the page.`] : []),
    ...frames(closedFrames),
    ...(questionCut ? ["The question is very long; only its beginning was used."] : []),
    ...(again ? ["The page changed meanwhile and was read again."] : []),
  ];
}

function frames(count: number): string[] {
  if (!count) return [];
  const what = count === 1 ? "A part of this page comes" : `${number(count)} parts of this page come`;
  return [`${what} from another site and could not be read.`];
}

function partsRead(windows: number, of: number): string {
  return `${number(windows)} of ${number(of)} parts, the most promising first.`;
}

function plain(headline: string, ...details: string[]): Words {
  return { headline, details, tone: "plain" };
}

function counted(count: number, what: string): string {
  return `${number(count)} ${what}${count === 1 ? "" : "s"}`;
}

function number(value: number): string {
  return value.toLocaleString("en");
}
