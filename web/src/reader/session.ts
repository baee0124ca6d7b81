/**
 * One model, ready to run: by WebAssembly, or by WebGPU where that is there and gives the same.
 *
 * The WebGPU engine is a download of its own, fetched only for models in floating point: of eight-bit ones WebGPU computes
 * too little itself.
 */

import engine from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import * as wasm from "onnxruntime-web/wasm";
import { CheckpointError } from "../errors";
import type { Window } from "../text/windows";
import type { Precision } from "./folder";
import type { Device } from "./protocol";

/** Start and end logits of each window. */
export type Output = { starts: Float32Array; ends: Float32Array }[];

type Library = Pick<typeof wasm, "InferenceSession" | "Tensor">;

const TOLERANCE = 1e-2; // in logits; answers differ from about 0.1 on

export class Session {
  private constructor(
    private readonly library: Library,
    private readonly session: wasm.InferenceSession,
    readonly device: Device,
    private readonly pad: number,
  ) {}

  /** Open an ONNX file; `pad` is the token that fills up a batch. */
  static async open(
    model: Uint8Array,
    options: { precision: Precision; threads: number; device: "auto" | "wasm"; pad: number; test: Window },
  ): Promise<Session> {
    wasm.env.wasm.numThreads = options.threads;
    // Left to itself, the library looks for further files if the worker is from another host than the page.
    wasm.env.wasm.wasmPaths = { wasm: engine };
    const session = await create(wasm, model, "wasm");
    for (const [kind, names] of [
      ["input", ["input_ids", "attention_mask", "token_type_ids"]],
      ["output", ["start_logits", "end_logits"]],
    ] as const) {
      const given = kind === "input" ? session.inputNames : session.outputNames;
      const fits = kind === "input" ? given.every((name) => names.includes(name as never)) : names.every((name) => given.includes(name));
      if (!fits)
        throw new CheckpointError(
          `the model has the ${kind}s ${given.join(", ")}; a reader has ${names.join(", ")}: ` +
            "take a model that was trained for question answering",
        );
    }
    const plain = new Session(wasm, session, "wasm", options.pad);
    if (options.device === "wasm" || options.precision.startsWith("int8")) return plain;
    return (await graphics(model, options.pad, plain, options.test)) ?? plain;
  }

  /** The logits of some windows, read as one batch. */
  async run(windows: readonly Window[]): Promise<Output> {
    const { Tensor } = this.library;
    const width = Math.max(...windows.map((window) => window.inputIds.length));
    const dims = [windows.length, width];
    const columns: Record<string, BigInt64Array> = {
      input_ids: new BigInt64Array(windows.length * width).fill(BigInt(this.pad)),
      attention_mask: new BigInt64Array(windows.length * width),
      token_type_ids: new BigInt64Array(windows.length * width),
    };
    windows.forEach(({ inputIds, tokenTypeIds }, row) => {
      for (let place = 0; place < inputIds.length; place++) {
        columns["input_ids"]![row * width + place] = BigInt(inputIds[place]!);
        columns["attention_mask"]![row * width + place] = 1n;
        columns["token_type_ids"]![row * width + place] = BigInt(tokenTypeIds[place]!);
      }
    });
    const feeds = this.session.inputNames.map((name) => [name, new Tensor("int64", columns[name]!, dims)] as const);
    const output = await this.session.run(Object.fromEntries(feeds));
    const [starts, ends] = await Promise.all(
      ["start_logits", "end_logits"].map(async (name) => (await output[name]!.getData()) as Float32Array),
    );
    if (starts!.length !== windows.length * width || ends!.length !== starts!.length)
      throw new CheckpointError(
        `the model gave ${starts!.length} start and ${ends!.length} end logits for ${windows.length} windows of ${width} ` +
          "tokens; a reader gives one of each per token",
      );
    return windows.map((_, row) => ({
      starts: starts!.subarray(row * width, (row + 1) * width),
      ends: ends!.subarray(row * width, (row + 1) * width),
    }));
  }

  async close(): Promise<void> {
    await this.session.release();
  }

  /** A session on the graphics processor, if there is a real one on which a window reads the same. */
  static async onGraphics(model: Uint8Array, pad: number): Promise<Session | null> {
    const graphics = (globalThis.navigator as { gpu?: { requestAdapter(): Promise<GraphicsAdapter | null> } }).gpu;
    const adapter = await graphics?.requestAdapter();
    if (!adapter || adapter.info?.isFallbackAdapter || adapter.isFallbackAdapter) return null;
    const library = await import("onnxruntime-web/webgpu");
    return new Session(library, await create(library, model, "webgpu"), "webgpu", pad);
  }
}

interface GraphicsAdapter {
  isFallbackAdapter?: boolean;
  info?: { isFallbackAdapter?: boolean };
}

async function graphics(model: Uint8Array, pad: number, plain: Session, test: Window): Promise<Session | null> {
  try {
    const session = await Session.onGraphics(model, pad);
    if (!session) return null;
    const [expected, found] = [await plain.run([test]), await session.run([test])];
    const [winner, loser] = agree(expected, found) ? [session, plain] : [plain, session];
    await loser.close();
    return winner;
  } catch {
    return null; // a driver that fails is a reason to go on without it, whatever it says
  }
}

/** Whether two engines read the same. */
export function agree(expected: Output, found: Output): boolean {
  const close = (a: Float32Array, b: Float32Array) =>
    a.length === b.length && a.every((value, place) => Math.abs(value - b[place]!) <= TOLERANCE);
  return expected.every((row, place) => close(row.starts, found[place]!.starts) && close(row.ends, found[place]!.ends));
}

function create(library: Library, model: Uint8Array, provider: Device): Promise<wasm.InferenceSession> {
  return library.InferenceSession.create(model, { executionProviders: [provider], logSeverityLevel: 3 });
}
