/** Plain text to blocks: paragraphs stand between blank lines, and keep their own line breaks. */

import { Breath } from "../breathe";
import { type Block, Content } from "../content";

export async function fromText(text: string, about: { title?: string; form?: string } = {}): Promise<Content> {
  const breath = new Breath();
  const blocks: Block[] = [];
  for (const paragraph of paragraphs(text.replace(/\r\n?/g, "\n").replace(/\f/g, "\n\n"))) {
    const shown = paragraph.replace(/\s+$/, "").replace(/^\s*\n/, "");
    if (shown.trim()) blocks.push({ kind: "paragraph", level: 0, text: shown, gap: "\n\n" });
    if (breath.due) await breath.take();
  }
  return Content.of(blocks, { title: about.title ?? "", form: about.form ?? "Text" });
}

function* paragraphs(text: string): Iterable<string> {
  const blank = /\n[^\S\n]*\n/g;
  let start = 0;
  for (let match = blank.exec(text); match; match = blank.exec(text)) {
    yield text.slice(start, match.index);
    start = match.index + match[0].length;
  }
  yield text.slice(start);
}
