import { describe, expect, test } from "vitest";
import { TokenizerError } from "../src/errors";
import { fromTokenizerJson, fromVocabTxt } from "../src/text/vocabulary";
import { WordPiece } from "../src/text/wordpiece";

const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const WORDS = [...SPECIAL, "run", "##ning", "[", "]", "sep", "cafe", "##s", "東", "😀"];
const cut = (text: string, config: Record<string, unknown> = {}) => {
  const tokenizer = new WordPiece(fromVocabTxt(WORDS.join("\n"), config));
  const { ids, starts, ends } = tokenizer.tokens(text);
  return Array.from(ids, (id, place) => [tokenizer.word(id), text.slice(starts[place], ends[place])]);
};

const json = (changes: object = {}) => ({
  model: { type: "WordPiece", vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])), unk_token: "[UNK]" },
  normalizer: { type: "BertNormalizer", lowercase: true },
  pre_tokenizer: { type: "BertPreTokenizer" },
  added_tokens: SPECIAL.map((content, id) => ({ id, content, special: true })),
  ...changes,
});

describe("WordPiece", () => {
  test("gives places that slice the text", () => {
    expect(cut("Running, 😀")).toEqual([
      ["run", "Run"],
      ["##ning", "ning"],
      ["[UNK]", ","],
      ["😀", "😀"],
    ]);
    expect(cut("CAFÉS cafe\u0301s")).toEqual([
      ["cafe", "CAFÉ"],
      ["##s", "S"],
      ["cafe", "cafe"],
      ["##s", "s"],
    ]);
  });

  test("takes special tokens in a text for text", () => {
    expect(cut("[SEP]")).toEqual([
      ["[", "["],
      ["sep", "SEP"],
      ["]", "]"],
    ]);
  });

  test("does so whatever they are called", () => {
    expect(cut("run sep", { mask_token: "run" })).toEqual([
      ["[UNK]", "run"],
      ["sep", "sep"],
    ]);
  });

  test("drops what cannot be read, and goes on behind it", () => {
    expect(cut("ru\ud800n\u200bning 東")).toEqual([
      ["run", "ru\ud800n"],
      ["##ning", "ning"],
      ["東", "東"],
    ]);
    expect(cut("\udc00\0 \t")).toEqual([]);
  });

  test("does not spell a word of more than a hundred characters", () => {
    const longest = `run${"s".repeat(97)}`;
    expect(cut(longest)).toHaveLength(98);
    expect(cut(`${longest}s`)).toEqual([["[UNK]", `${longest}s`]]);
  });
});

describe("files", () => {
  test("tokenizer.json and vocab.txt give the same", () => {
    const settings = fromVocabTxt(`${WORDS.join("\r\n")}\r\n`);
    expect(fromTokenizerJson(json())).toEqual(settings);
    expect(settings.words).toEqual(WORDS);
  });

  test("tokenizer_config.json wins", () => {
    expect(fromTokenizerJson(json(), { do_lower_case: false, cls_token: { content: "run" } })).toMatchObject({
      lowercase: false,
      roles: { cls: "run" },
    });
  });

  test.each([
    ["another model", json({ model: { type: "BPE", vocab: {} } }), /type is "BPE"; a browser reads WordPiece/],
    ["no object", json({ normalizer: null }), /normalizer is null; an object was expected/],
    ["a plain added word", json({ added_tokens: [{ id: 5, content: "run" }] }), /adds the plain word "run"/],
    ["another id", json({ added_tokens: [{ id: 6, content: "run", special: true }] }), /"run" the id 6; .* says 5/],
    [
      "a hole",
      json({ model: { ...json().model, vocab: { ...json().model.vocab, far: 99 } } }),
      /"far" has the id 99; the 15 words/,
    ],
    [
      "another frame",
      json({ post_processor: { type: "TemplateProcessing", single: [], pair: [] } }),
      /does not frame/,
    ],
    ["a long word", json({ model: { ...json().model, max_input_chars_per_word: 1e9 } }), /allowed are 1 to 200/],
  ])("%s is refused", (_, data, message) => {
    expect(() => fromTokenizerJson(data)).toThrow(TokenizerError);
    expect(() => fromTokenizerJson(data)).toThrow(message);
  });

  test("a vocabulary without the needed words, or with one twice, is refused", () => {
    expect(() => fromVocabTxt("[UNK]\nrun")).toThrow(/has no \[CLS\], \[SEP\], \[PAD\]/);
    expect(() => fromVocabTxt([...WORDS, "run"].join("\n"))).toThrow(/stands there twice/);
  });
});
