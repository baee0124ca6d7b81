/** Answers one JSON request a line, for the tests that compare this package with Python: `node build/parity.js VOCAB`. */

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fromVocabTxt } from "../../src/text/vocabulary";
import { WordPiece } from "../../src/text/wordpiece";

const config = JSON.parse(process.argv[3] ?? "{}");
const tokenizer = new WordPiece(fromVocabTxt(readFileSync(process.argv[2]!, "utf8"), config));

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const { ids, starts, ends } = tokenizer.tokens(request.text);
  process.stdout.write(JSON.stringify([[...ids], [...starts], [...ends]]) + "\n");
}
