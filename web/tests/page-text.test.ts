/** The text that is put together from a page's text nodes, and the way back to them. */

import { describe, expect, it } from "vitest";
import { type PageText, type Source, Writer } from "../extension/page/text";

/** A text as the writer makes it of some strings; "¶", "↵", "_" and "|" part them, a leading "=" keeps blanks. */
function written(...parts: string[]): { text: PageText<Source>; sources: Source[] } {
  const writer = new Writer<Source>();
  const sources: Source[] = [];
  for (const part of parts) {
    if (part === "¶") writer.paragraph();
    else if (part === "↵") writer.newline();
    else if (part === "|") writer.divide(" | ");
    else if (part === "_") writer.blank();
    else {
      const source = { data: part.replace(/^=/, "") };
      sources.push(source);
      if (part.startsWith("=")) writer.kept(source);
      else writer.words(source);
    }
  }
  return { text: writer.finish(), sources };
}

describe("the text", () => {
  it.each([
    [["  a  b\n", " c "], "a b c"],
    [["a", "b"], "ab"],
    [["a ", "¶", " b", "¶"], "a\n\nb"],
    [["a", "↵", "b", "↵", "↵", "c", "↵"], "a\nb\n\nc"],
    [["a", " ", "|", " b", "|", "|", "c"], "a | b |  | c"],
    [["¶", "|", "a"], "a"],
    [["a", "_", "_", "b ", "_", "c"], "a b c"],
    [["=a\r\n  b\t", "¶", "=  c"], "a\n  b\n\n  c"],
    [["so\u00adft\u200b", "\ufeff \u00a0 x\u00a0y"], "soft x\u00a0y"],
    [["\ud83d", "\ude00 \ud83d!"], "😀 \ufffd!"],
    [[" \n "], ""],
  ])("of %j is %j", (parts, expected) => {
    expect(written(...parts).text.text).toBe(expected);
  });
});

describe("the way back", () => {
  it("finds every character where it came from", () => {
    const { text } = written(" The  lamp\u00ad light", "¶", "=of\n old", "|", "\u200b41 ", "  m");
    for (let place = 0; place < text.text.length; place++) {
      const [piece, ...others] = text.pieces(place, place + 1);
      expect(others).toEqual([]);
      const character = text.text[place]!;
      if (!piece) expect(" |\n").toContain(character);
      else {
        expect(piece.end - piece.start).toBe(1);
        const found = piece.source.data[piece.start]!;
        expect(found.trim()).toBe(character.trim());
      }
    }
  });

  it("takes in what was dropped inside a stretch, not at its ends", () => {
    const { text, sources } = written("\u00adso\u00adft\u00ad  ly");
    expect(text.text).toBe("soft ly");
    expect(text.pieces(0, 4)).toEqual([{ source: sources[0], start: 1, end: 6 }]);
    expect(text.pieces(0, 7)).toEqual([{ source: sources[0], start: 1, end: 11 }]);
  });

  it("gives one piece for each source, in order", () => {
    const { text, sources } = written("one ", "two", "¶", "three");
    expect(text.pieces(2, text.text.length - 1)).toEqual([
      { source: sources[0], start: 2, end: 4 },
      { source: sources[1], start: 0, end: 3 },
      { source: sources[2], start: 0, end: 4 },
    ]);
    expect(text.pieces(7, 9)).toEqual([]); // the break
    expect(text.pieces(3, 3)).toEqual([]);
  });

  it("notices that a source says something else", () => {
    const { text, sources } = written("one  two", "¶", "three\ud800");
    const change = (number: number, data: string) => ((sources[number] as { data: string }).data = data);
    expect(text.holds(0, text.text.length)).toBe(true);
    change(0, "one\n two");
    expect(text.holds(0, text.text.length)).toBe(true); // as blank as before
    change(0, "one  too");
    expect([text.holds(0, 3), text.holds(4, 7), text.holds(9, 14)]).toEqual([true, false, true]);
    change(1, "th");
    expect(text.holds(9, 14)).toBe(false);
  });
});
