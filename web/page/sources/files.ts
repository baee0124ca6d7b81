/** A file that somebody dropped or chose, to something that can be read. */

import type { Content } from "../content";
import { fromHtml } from "./html";
import { fromText } from "./text";

const MEGABYTE = 1 << 20;
const LARGEST = { text: 20 * MEGABYTE, html: 10 * MEGABYTE, pdf: 100 * MEGABYTE };

/** What cannot be read, in words for whoever gave it. */
export class UnreadableError extends Error {}

export async function fromFile(file: File, progress: (done: number, of: number) => void): Promise<Content> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const kind = kindOf(file.name, bytes);
  if (bytes.length > LARGEST[kind])
    throw new UnreadableError(
      `“${file.name}” has ${Math.ceil(bytes.length / MEGABYTE)} MB; at most ${LARGEST[kind] / MEGABYTE} MB can be read. Give a part of it.`,
    );
  const content = await read(kind, bytes, file.name, progress);
  if (!content.text.trim())
    throw new UnreadableError(
      kind === "pdf"
        ? `“${file.name}” holds no text, only pictures of it, as scans do. Run it through a text recognition first.`
        : `“${file.name}” holds no text. Choose another file.`,
    );
  return content;
}

async function read(
  kind: keyof typeof LARGEST,
  bytes: Uint8Array<ArrayBuffer>,
  name: string,
  progress: (done: number, of: number) => void,
): Promise<Content> {
  if (kind === "text") return fromText(decoded(bytes, name), { title: name });
  if (kind === "html") return fromHtml(decoded(bytes, name), "HTML file");
  const { fromPdf } = await import("./pdf");
  try {
    return await fromPdf(bytes, name, progress);
  } catch (error) {
    const locked = (error as Error).name === "PasswordException";
    throw new UnreadableError(
      locked
        ? `“${name}” is protected by a password. Save a copy without one, and give that.`
        : `“${name}” cannot be read as a PDF (${(error as Error).message.replace(/\.$/, "")}). Save it again, or copy its text.`,
    );
  }
}

/** By what is in it; its name only tells HTML from text. */
function kindOf(name: string, bytes: Uint8Array): keyof typeof LARGEST {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 1024));
  if (head.includes("%PDF-")) return "pdf";
  if (/\.(x?html?|xht|shtml)$/i.test(name) || /^\s*(?:\ufeff|ï»¿)?\s*<(?:!doctype html|html|\?xml[^>]*\?>\s*<(?:!doctype )?html)/i.test(head)) return "html";
  return "text";
}

/** Text in the encoding that it declares, or UTF-8, or what older programs wrote. */
function decoded(bytes: Uint8Array<ArrayBuffer>, name: string): string {
  const mark = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : null;
  if (!mark && bytes.subarray(0, 4096).includes(0))
    throw new UnreadableError(`“${name}” is neither text nor HTML nor PDF. Choose another file.`);
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 2048));
  const declared = /<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)/i.exec(head)?.[1];
  for (const encoding of [mark, "utf-8", declared, "windows-1252"])
    try {
      if (encoding) return new TextDecoder(encoding, { fatal: encoding !== "windows-1252" }).decode(bytes);
    } catch {
      // Not in this one, or a name that no browser knows.
    }
  return head;
}
