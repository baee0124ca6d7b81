/** The files of a WordPiece tokenizer, tokenizer.json or vocab.txt with tokenizer_config.json, to settings. */

import { TokenizerError, shown } from "../errors";
import type { Normalization } from "./normalize";

export type Role = "unk" | "cls" | "sep" | "pad" | "mask";
export type Fields = Record<string, unknown>;

export interface Settings extends Normalization {
  /** In the order of their ids. */
  words: readonly string[];
  roles: Readonly<Record<Role, string>>;
  /** The words that no text may become: "[SEP]" written out in a page is text. */
  special: ReadonlySet<string>;
  longestWord: number;
}

const ROLES: readonly Role[] = ["unk", "cls", "sep", "pad", "mask"];
const LONGEST_WORD = 200; // the time for a word grows with the square of its length

/** Settings from a vocab.txt, one word per line, and what tokenizer_config.json says about it. */
export function fromVocabTxt(text: string, config: Fields = {}): Settings {
  const words = text.split("\n");
  while (words.length && ["", "\r"].includes(words.at(-1)!)) words.pop();
  const roles = { ...defaultRoles(), ...configRoles(config) };
  return checked({
    words: words.map((word) => word.replace(/\r$/, "")),
    roles,
    special: new Set(Object.values(roles)),
    lowercase: field(config, "do_lower_case", "boolean", true),
    stripAccents: field(config, "strip_accents", "boolean", null),
    splitChinese: field(config, "tokenize_chinese_chars", "boolean", true),
    clean: true,
    longestWord: 100,
  });
}

/** Settings from a tokenizer.json; what tokenizer_config.json says besides wins. */
export function fromTokenizerJson(data: Fields, config: Fields = {}): Settings {
  const model = object(data, "model");
  const normalizer = object(data, "normalizer");
  expect(model, "type", ["WordPiece", undefined]);
  expect(model, "continuing_subword_prefix", ["##", undefined, null]);
  expect(normalizer, "type", ["BertNormalizer"]);
  expect(object(data, "pre_tokenizer"), "type", ["BertPreTokenizer"]);
  const padding = data["padding"] as { pad_token?: unknown } | null | undefined;
  const roles = {
    ...defaultRoles(),
    ...(typeof padding?.pad_token === "string" ? { pad: padding.pad_token } : {}),
    unk: field(model, "unk_token", "string", "[UNK]"),
    ...frame(data["post_processor"]),
    ...configRoles(config),
  };
  const { words, special } = vocabulary(object(model, "vocab"), data["added_tokens"], roles);
  return checked({
    words,
    roles,
    special,
    lowercase: field(config, "do_lower_case", "boolean", field(normalizer, "lowercase", "boolean", true)),
    stripAccents: field(config, "strip_accents", "boolean", field(normalizer, "strip_accents", "boolean", null)),
    splitChinese: field(
      config,
      "tokenize_chinese_chars",
      "boolean",
      field(normalizer, "handle_chinese_chars", "boolean", true),
    ),
    clean: field(normalizer, "clean_text", "boolean", true),
    longestWord: field(model, "max_input_chars_per_word", "number", 100),
  });
}

function defaultRoles(): Record<Role, string> {
  return { unk: "[UNK]", cls: "[CLS]", sep: "[SEP]", pad: "[PAD]", mask: "[MASK]" };
}

function configRoles(config: Fields): Partial<Record<Role, string>> {
  const roles: Partial<Record<Role, string>> = {};
  for (const role of ROLES) {
    let word = config[`${role}_token`];
    // Older files write {"content": "[CLS]", …}.
    if (word && typeof word === "object") word = (word as Fields)["content"];
    if (typeof word === "string") roles[role] = word;
  }
  return roles;
}

/** The names of the tokens before and after a text, from a post-processor, which must be BERT's. */
function frame(processor: unknown): Partial<Record<Role, string>> {
  if (processor === null || processor === undefined) return {};
  const fields = processor as { type?: unknown; cls?: unknown[]; sep?: unknown[]; single?: unknown; pair?: unknown };
  if (fields.type === "BertProcessing") return { cls: String(fields.cls?.[0]), sep: String(fields.sep?.[0]) };
  const names = Array.isArray(fields.single)
    ? fields.single.map((part: Fields) => (part?.["SpecialToken"] as Fields | undefined)?.["id"])
    : [];
  const [cls, , sep] = names;
  const mark = (id: unknown, type: number) => ({ SpecialToken: { id, type_id: type } });
  const text = (id: string, type: number) => ({ Sequence: { id, type_id: type } });
  const single = [mark(cls, 0), text("A", 0), mark(sep, 0)];
  const pair = [...single, text("B", 1), mark(sep, 1)];
  if (typeof cls !== "string" || typeof sep !== "string" || !same(fields.single, single) || !same(fields.pair, pair))
    throw new TokenizerError(
      "the post_processor does not frame texts as [CLS] A [SEP] B [SEP]; WordPiece models have this frame",
    );
  return { cls, sep };
}

function vocabulary(words: Fields, added: unknown, roles: Record<Role, string>) {
  const ids = new Map(Object.entries(words));
  const special = new Set(Object.values(roles));
  for (const entry of (added ?? []) as Fields[]) {
    const word = field(entry, "content", "string");
    const id = field(entry, "id", "number");
    if ((ids.get(word) ?? id) !== id)
      throw new TokenizerError(
        `added_tokens gives ${shown(word)} the id ${id}; the vocabulary says ${shown(ids.get(word))}`,
      );
    ids.set(word, id);
    if (!entry["special"] && !special.has(word))
      throw new TokenizerError(
        `added_tokens adds the plain word ${shown(word)}; in a browser only special tokens can be added: ` +
          "use a tokenizer without added words",
      );
    special.add(word);
  }
  const ordered = new Array<string | undefined>(ids.size);
  for (const [word, id] of ids) {
    if (
      !Number.isInteger(id) ||
      (id as number) < 0 ||
      (id as number) >= ids.size ||
      ordered[id as number] !== undefined
    )
      throw new TokenizerError(
        `the word ${shown(word)} has the id ${shown(id)}; ` +
          `the ${ids.size} words need the ids 0 to ${ids.size - 1}, each once`,
      );
    ordered[id as number] = word;
  }
  return { words: ordered as string[], special };
}

function checked(settings: Settings): Settings {
  const { words, roles, longestWord } = settings;
  const missing = (["unk", "cls", "sep", "pad"] as const)
    .map((role) => roles[role])
    .filter((word) => !words.includes(word));
  if (missing.length)
    throw new TokenizerError(
      `the vocabulary of ${words.length} words has no ${missing.join(", ")}; a reader needs them`,
    );
  if (new Set(words).size < words.length || words.includes(""))
    throw new TokenizerError("a word of the vocabulary is empty or stands there twice; every word has one id");
  if (!Number.isInteger(longestWord) || longestWord < 1 || longestWord > LONGEST_WORD)
    throw new TokenizerError(`the longest word may have ${longestWord} characters; allowed are 1 to ${LONGEST_WORD}`);
  return settings;
}

interface Types {
  string: string;
  number: number;
  boolean: boolean;
}

function field<Name extends keyof Types, Default = never>(
  fields: Fields,
  key: string,
  type: Name,
  otherwise?: Default,
): Types[Name] | Default {
  const value = fields[key];
  if ((value === undefined || value === null) && otherwise !== undefined) return otherwise;
  if (typeof value !== type) throw new TokenizerError(`${key} is ${shown(value)}; a ${type} was expected`);
  return value as Types[Name];
}

function object(fields: Fields, key: string): Fields {
  const value = fields[key];
  if (!value || typeof value !== "object" || Array.isArray(value))
    throw new TokenizerError(`${key} is ${shown(value)}; an object was expected`);
  return value as Fields;
}

function expect(fields: Fields, key: string, allowed: readonly unknown[]): void {
  if (!allowed.includes(fields[key]))
    throw new TokenizerError(
      `${key} is ${shown(fields[key])}; a browser reads WordPiece tokenizers, which have ${shown(allowed[0])}`,
    );
}

/** Whether two JSON values are equal, whatever the order of their keys. */
function same(left: unknown, right: unknown): boolean {
  if (typeof left !== "object" || typeof right !== "object" || !left || !right) return left === right;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => same((left as Fields)[key], (right as Fields)[key]))
  );
}
