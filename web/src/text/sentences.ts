/**
 * The sentence around an answer, by the runtime's rule of thumb; blanks, digits and letters are those that Python
 * sees.
 */

import { characterSet, isAlphanumeric, isBlankText, isDecimal, isSpace } from "./unicode";

const CELLS = " | "; // what stands between the cells of a table's row: a row is a sentence
const REACH = 1000; // characters looked at on either side; a text without full stops must not become one sentence
const LONGEST_ABBREVIATION = 12;

interface Rules {
  end: RegExp;
  abbreviation: RegExp;
}

let rules: Rules | undefined;

/**
 * Where the sentence begins and ends that holds `text.slice(start, end)`; several if the stretch runs over their
 * ends.
 */
export function sentenceAround(text: string, start: number, end: number): [first: number, last: number] {
  const left = back(text, start, REACH);
  const right = ahead(text, end, REACH);
  const above = start > left ? text.slice(left, start).lastIndexOf("\n") : -1;
  const below = text.slice(end, right).indexOf("\n");
  const row: [number, number] = [above < 0 ? left : left + above + 1, below < 0 ? right : end + below];
  if (text.slice(...row).includes(CELLS)) return trimmed(text, start, end, ...row);
  let first = left;
  let last = right;
  const seen = text.slice(0, right); // rules must not look further than that
  const { end: ends } = (rules ??= build());
  ends.lastIndex = left;
  for (let match = ends.exec(seen); match; match = ends.exec(seen)) {
    const [from, to] = [match.index, match.index + match[0].length];
    if (isAbbreviation(text, match[0], from)) continue;
    if (to <= start) first = to;
    else if (from >= end || (from < end && end <= to && isBlankText(text.slice(end, to)))) {
      last = to;
      break;
    }
  }
  return trimmed(text, start, end, first, last);
}

/** The stretch from `first` to `last` without blanks at its ends, but with all of `start` to `end`. */
function trimmed(text: string, start: number, end: number, first: number, last: number): [number, number] {
  while (first < start && isSpace(text.charCodeAt(first))) first++;
  while (last > end && isSpace(text.charCodeAt(last - 1))) last--;
  return [first, last];
}

function isAbbreviation(text: string, match: string, from: number): boolean {
  if (!match.startsWith(".") || match.startsWith("..")) return false;
  const { abbreviation } = (rules ??= build());
  abbreviation.lastIndex = back(text, from, LONGEST_ABBREVIATION);
  return abbreviation.test(text.slice(0, from + 1));
}

function back(text: string, place: number, count: number): number {
  while (place > 0 && count-- > 0) place -= isPair(text, place - 2) ? 2 : 1;
  return place;
}

function ahead(text: string, place: number, count: number): number {
  while (place < text.length && count-- > 0) place += isPair(text, place) ? 2 : 1;
  return place;
}

function isPair(text: string, place: number): boolean {
  return place >= 0 && (text.codePointAt(place) ?? 0) > 0xffff;
}

function build(): Rules {
  const space = `[${characterSet(isSpace)}]`;
  const digit = `[${characterSet(isDecimal)}]`;
  const notInWord = `(?<![_${characterSet(isAlphanumeric)}])`;
  // A sentence ends at a blank line or before a point of a list, after a full stop of a script that writes no
  // blanks, or after . ! ? … (and closing quotes or brackets) where blanks and something other than a small letter
  // follow.
  const end = [
    `\\n[ \\t\\r]*\\n${space}*`,
    `\\n${space}*(?=(?:[\\-*•–]|${digit}+[.\\)])[ \\t])`,
    `[。！？｡]["'”’」』）\\)\\]]*${space}*`,
    `[.!?…]+["'”’»\\)\\]]*${space}+(?![a-zà-ÿ])`,
  ];
  // … unless it ends an abbreviation, an initial or the number of a point.
  const abbreviation = [
    `${notInWord}(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Lt|Capt|Sgt|Rev|Hon|Gov|Sen|Rep|No|Nos|vs|etc|cf|al|ca|approx` +
      "|e\\.g|i\\.e|Fig|Figs|Eq|Vol|pp?|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)",
    `(?:^|[\\(.]|${space})[A-Z]`,
    `(?:^|\\n)[ \\t]*${digit}{1,3}`,
  ];
  return {
    end: new RegExp(end.join("|"), "gu"),
    abbreviation: new RegExp(`(?:${abbreviation.join("|")})\\.$`, "gu"),
  };
}
