/** The list of answers: each a button with its sentence, its words set off, and how sure the reader is. */

import type { Answer } from "../src/index";

const NEAR = 90; // characters of the sentence before and behind the words

export function answerItem(answer: Answer, choose: () => void): HTMLLIElement {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "answer";
  button.addEventListener("click", choose);
  const score = document.createElement("span");
  score.className = "score";
  const meter = document.createElement("meter");
  meter.value = answer.score;
  meter.ariaHidden = "true";
  const share = document.createElement("span");
  share.textContent = percent(answer.score);
  score.append(meter, share);
  const words = document.createElement("span");
  words.className = "words";
  words.textContent = answer.text.replace(/\s+/g, " ");
  const sentence = document.createElement("span");
  sentence.className = "sentence";
  sentence.append(...inSentence(answer));
  button.append(words, score, sentence);
  item.append(button);
  return item;
}

/** A probability that never claims to be certain. */
export function percent(probability: number): string {
  const rounded = Math.round(100 * probability);
  return rounded >= 100 ? "> 99\u00a0%" : rounded < 1 ? "< 1\u00a0%" : `${rounded}\u00a0%`;
}

function inSentence({ text, start, end, sentence }: Answer): (string | HTMLElement)[] {
  const strong = document.createElement("strong");
  strong.textContent = text;
  let before = sentence.text.slice(0, start - sentence.start);
  let behind = sentence.text.slice(end - sentence.start);
  if (before.length > NEAR) before = `… ${before.slice(-NEAR).replace(/^\S*\s/, "")}`;
  if (behind.length > NEAR) behind = `${behind.slice(0, NEAR).replace(/\s\S*$/, "")} …`;
  return [before, strong, behind];
}
