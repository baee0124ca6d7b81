import { createHash } from "node:crypto";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { CheckpointError, ConfigError, TokenizerError } from "../src/errors";
import { fetchReader } from "../src/reader/folder";

const QA = { window: 128, overlap: 64, max_answer_length: 30, temperature: 1, slope: 1, bias: 0, threshold: 0.5 };
const FILES: Record<string, string> = {
  "config.json": '{"max_position_embeddings": 384}',
  "qa_config.json": JSON.stringify(QA),
  "vocab.txt": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n東\n",
  "onnx/model.onnx": "a model".repeat(1000),
  "README.md": "what nobody needs",
};

let server: Server | undefined;
afterEach(() => void server?.close());

/** A folder on a real server, with a true manifest unless another one is given. */
async function folder(
  files: Record<string, string>,
  options: { manifest?: string; zip?: boolean; sizes?: boolean } = {},
) {
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  const listed = Object.entries(files).map(([name, text]) => [name, digest(text)]);
  const sizes = Object.entries(files).map(([name, text]) => [name, Buffer.byteLength(text)]);
  const manifest = {
    sha256: Object.fromEntries(listed),
    ...(options.sizes ? { bytes: Object.fromEntries(sizes) } : {}),
  };
  const all: Record<string, string> = { ...files, "manifest.json": options.manifest ?? JSON.stringify(manifest) };
  const asked: string[] = [];
  server = createServer((request, response) => {
    const name = request.url!.slice("/model/".length);
    asked.push(name);
    if (!(name in all)) return void response.writeHead(404).end();
    const body = Buffer.from(all[name]!);
    const sent = options.zip ? gzipSync(body) : body;
    response.writeHead(200, {
      "content-length": sent.length,
      ...(options.zip ? { "content-encoding": "gzip" } : {}),
    });
    response.end(sent);
  });
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/model/`), asked, all };
}

const needed = (files: Record<string, string>) =>
  Object.entries(files).reduce((sum, [name, text]) => sum + (name === "README.md" ? 0 : Buffer.byteLength(text)), 0);

describe("a model folder", () => {
  test("is fetched as far as it is needed, and its bytes are counted", async () => {
    const { url, asked } = await folder(FILES);
    const seen: [number, number][] = [];
    const files = await fetchReader(url, (loaded, total) => void seen.push([loaded, total]));
    expect(new TextDecoder().decode(files.model)).toBe(FILES["onnx/model.onnx"]);
    expect(files).toMatchObject({
      precision: "fp32",
      calibrated: true,
      positions: 384,
      calibration: { window: 128 },
    });
    expect(files.tokenizer.words).toHaveLength(6);
    expect(asked.sort()).toEqual(["config.json", "manifest.json", "onnx/model.onnx", "qa_config.json", "vocab.txt"]);
    expect(seen.at(-1)).toEqual([needed(FILES), needed(FILES)]);
  });

  test("may come compressed; the total is known if the manifest says it", async () => {
    for (const sizes of [false, true]) {
      const { url } = await folder(FILES, { zip: true, sizes });
      const seen: [number, number][] = [];
      await fetchReader(url, (loaded, total) => void seen.push([loaded, total]));
      expect(seen.at(-1)).toEqual([needed(FILES), sizes ? needed(FILES) : 0]);
      server!.close();
    }
  });

  test("without a calibration has a neutral one that fits the model", async () => {
    const { "qa_config.json": _, ...files } = FILES;
    const { url } = await folder({ ...files, "config.json": '{"max_position_embeddings": 96}' });
    expect(await fetchReader(url)).toMatchObject({
      calibrated: false,
      calibration: { window: 96, overlap: 32, slope: 1 },
    });
  });

  test.each<[string, Parameters<typeof folder>, new () => Error, RegExp]>([
    [
      "another file",
      [FILES, { manifest: '{"sha256": {"vocab.txt": "0", "onnx/model.onnx": "0"}}' }],
      CheckpointError,
      /is not the file it should be/,
    ],
    [
      "a missing file",
      [FILES, { manifest: '{"sha256": {"vocab.txt": "0", "onnx/model_quantized.onnx": "0"}}' }],
      CheckpointError,
      /model_quantized.onnx cannot be fetched \(status 404\)/,
    ],
    [
      "no model",
      [{ "vocab.txt": "" }],
      CheckpointError,
      /has no onnx\/model_quantized.onnx and no .*; its manifest lists vocab.txt/,
    ],
    ["no words", [{ "onnx/model.onnx": "" }], TokenizerError, /neither a tokenizer.json nor a vocab.txt/],
    ["no hashes", [FILES, { manifest: '{"name": "an app"}' }], CheckpointError, /manifest.json holds no hashes/],
    ["no JSON", [FILES, { manifest: "<html>" }], ConfigError, /manifest.json cannot be read as JSON/],
    [
      "too few positions",
      [{ ...FILES, "config.json": '{"max_position_embeddings": 96}' }],
      ConfigError,
      /windows of 128 tokens, but the model has 96/,
    ],
    [
      "strange positions",
      [{ ...FILES, "config.json": '{"max_position_embeddings": "many"}' }],
      ConfigError,
      /is "many"; it must be a whole number/,
    ],
  ])("with %s is refused", async (_, given, kind, message) => {
    const { url } = await folder(...given);
    const fetching = fetchReader(url);
    await expect(fetching).rejects.toThrow(kind);
    await expect(fetching).rejects.toThrow(message);
  });

  test("that nobody serves is refused", async () => {
    await expect(fetchReader(new URL("http://127.0.0.1:9/"))).rejects.toThrow(/manifest.json cannot be fetched/);
  });
});
