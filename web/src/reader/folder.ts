/**
 * The files of a reader, fetched from a model folder and checked: each is the one that `manifest.json` lists.
 *
 * {"sha256": {"config.json": "…", "onnx/model_quantized.onnx": "…"}, "bytes": {"config.json": 822, …}}
 *
 * The sizes are for the progress bar and may be left out. `"optimised": true` says that the engine has nothing left to
 * do to the model's graph.
 */

import { CheckpointError, ConfigError, PocketbertError, TokenizerError, shown } from "../errors";
import { type Calibration, NEUTRAL, readCalibration } from "../text/calibration";
import { type Fields, type Settings, fromTokenizerJson, fromVocabTxt } from "../text/vocabulary";
import { sha256 } from "./sha256";

/** The file to open by what it computes in, in the order of choice: as in Python. */
const MODELS = {
  int8: "onnx/model_quantized.onnx",
  fp32: "onnx/model.onnx",
  fp16: "onnx/model_fp16.onnx",
  "int8-fast": "onnx/model_quantized_fast.onnx",
} as const;

export type Precision = keyof typeof MODELS;

export interface ReaderFiles {
  model: Uint8Array<ArrayBuffer>;
  precision: Precision;
  /** Whether the graph was optimised when it was bundled. */
  optimised: boolean;
  tokenizer: Settings;
  calibration: Calibration;
  calibrated: boolean;
  positions: number | null;
}

type Bytes = Uint8Array<ArrayBuffer>;
type Progress = (loaded: number, total: number) => void;

/** Fetch and check all that a reader needs; `folder` ends with a slash. */
export async function fetchReader(folder: URL, progress: Progress = () => {}): Promise<ReaderFiles> {
  const { hashes, sizes, optimised } = await fetchManifest(folder);
  const listed = (name: string) => Object.hasOwn(hashes, name);
  const precision = (Object.keys(MODELS) as Precision[]).find((kind) => listed(MODELS[kind]));
  if (!precision)
    throw new CheckpointError(
      `${folder.href} has no ${Object.values(MODELS).join(" and no ")}; ` +
        `its manifest lists ${Object.keys(hashes).join(", ")}`,
    );
  const words = ["tokenizer.json", "vocab.txt"].find(listed);
  if (!words)
    throw new TokenizerError(
      `${folder.href} has neither a tokenizer.json nor a vocab.txt in its manifest; ${ADVICE}`,
    );
  const optional = ["config.json", "qa_config.json", "tokenizer_config.json"].filter(listed);
  const names = [MODELS[precision], words, ...optional];
  const count = counter(names, sizes, progress);
  const files = new Map<string, Bytes>();
  await Promise.all(names.map(async (name) => files.set(name, await fetchFile(folder, name, hashes[name]!, count))));
  const json = (name: string) => parsed(new URL(name, folder), files.get(name)!) as Fields;
  const config = files.has("tokenizer_config.json") ? json("tokenizer_config.json") : {};
  const calibrated = files.has("qa_config.json");
  const positions = files.has("config.json") ? positionsOf(json("config.json")) : null;
  return {
    model: files.get(MODELS[precision])!,
    precision,
    optimised,
    tokenizer:
      words === "vocab.txt"
        ? fromVocabTxt(decoded(new URL(words, folder), files.get(words)!), config)
        : fromTokenizerJson(json(words), config),
    calibration: fitted(calibrated ? readCalibration(json("qa_config.json")) : NEUTRAL, calibrated, positions),
    calibrated,
    positions,
  };
}

interface Manifest {
  hashes: Record<string, string>;
  sizes: Record<string, number>;
  optimised: boolean;
}

async function fetchManifest(folder: URL): Promise<Manifest> {
  const url = new URL("manifest.json", folder);
  const data = parsed(url, await download(url)) as { sha256?: unknown; bytes?: unknown; optimised?: unknown };
  const hashes = data?.sha256;
  if (!hashes || typeof hashes !== "object" || !Object.values(hashes).every((hash) => typeof hash === "string"))
    throw new CheckpointError(`${url.href} holds no hashes; ${ADVICE}`);
  const sizes = data.bytes && typeof data.bytes === "object" ? data.bytes : {};
  return {
    hashes: hashes as Record<string, string>,
    sizes: sizes as Record<string, number>,
    optimised: data.optimised === true,
  };
}

async function fetchFile(folder: URL, name: string, expected: string, count: Counter): Promise<Bytes> {
  const url = new URL(name, folder);
  const bytes = await download(url, (loaded, total) => count(name, loaded, total));
  const found = await sha256(bytes);
  if (found !== expected)
    throw new CheckpointError(
      `${url.href} is not the file it should be: its SHA-256 is ${found}, the manifest says ${expected}; ${ADVICE}`,
    );
  return bytes;
}

async function download(url: URL, progress: Progress = () => {}): Promise<Bytes> {
  let response: Response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new CheckpointError(`${url.href} cannot be fetched (${(error as Error).message}); ${ADVICE}`);
  }
  if (!response.ok || !response.body)
    throw new CheckpointError(`${url.href} cannot be fetched (status ${response.status}); ${ADVICE}`);
  // The header counts what goes over the wire, which is less than what arrives if the server compresses.
  const plain = !response.headers.get("content-encoding");
  let bytes = new Uint8Array(plain ? Number(response.headers.get("content-length")) || 0 : 0);
  const total = bytes.length;
  let loaded = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return loaded === bytes.length ? bytes : bytes.slice(0, loaded);
    if (loaded + value.length > bytes.length) {
      const larger = new Uint8Array(Math.max(2 * bytes.length, loaded + value.length, 1 << 16));
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(value, loaded);
    progress((loaded += value.length), total);
  }
}

type Counter = (name: string, loaded: number, total: number) => void;

/** Adds up the files; the total is only said once it is known of all of them. */
function counter(names: readonly string[], sizes: Record<string, number>, progress: Progress): Counter {
  const loads = new Map<string, number>();
  const totals = new Map(names.filter((name) => sizes[name]).map((name) => [name, sizes[name]!]));
  const sum = (values: Iterable<number>) => [...values].reduce((all, value) => all + value, 0);
  return (name, loaded, total) => {
    loads.set(name, loaded);
    if (total) totals.set(name, total);
    progress(sum(loads.values()), totals.size === names.length ? sum(totals.values()) : 0);
  };
}

function parsed(url: URL, bytes: Bytes): unknown {
  try {
    return JSON.parse(decoded(url, bytes));
  } catch (error) {
    if (error instanceof PocketbertError) throw error;
    throw new ConfigError(`${url.href} cannot be read as JSON (${(error as Error).message}); ${ADVICE}`);
  }
}

function decoded(url: URL, bytes: Bytes): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError(`${url.href} is no text in UTF-8; ${ADVICE}`);
  }
}

function positionsOf(config: Fields): number | null {
  const positions = config?.["max_position_embeddings"];
  if (positions === undefined || positions === null) return null;
  if (!Number.isInteger(positions) || (positions as number) < 1)
    throw new ConfigError(
      `config.json: max_position_embeddings is ${shown(positions)}; it must be a whole number from 1 up`,
    );
  return positions as number;
}

/** A calibration whose windows the model can read. */
function fitted(calibration: Calibration, calibrated: boolean, positions: number | null): Calibration {
  if (positions === null || positions >= calibration.window) return calibration;
  if (calibrated)
    throw new ConfigError(
      `qa_config.json asks for windows of ${calibration.window} tokens, but the model has ${positions} positions; ` +
        "fit the calibration again",
    );
  return { ...calibration, window: positions, overlap: Math.min(calibration.overlap, Math.floor(positions / 3)) };
}

const ADVICE =
  "give the address of a model folder with a manifest.json, as `pocketbert bundle` makes it, or make it again";
