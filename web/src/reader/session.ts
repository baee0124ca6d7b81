/**
 * One model, ready to run: by WebAssembly, or by WebGPU where that is there and gives the same.
 *
 * The WebGPU engine is a download of its own, by itself fetched for models in floating point only: eight-bit ones are
 * rounded differently by any two engines, up to a logit apart, so that none would pass the test.
 */

import engine from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import * as wasm from "onnxruntime-web/wasm";
import { CheckpointError } from "../errors";
import type { Window } from "../text/windows";
import type { Precision } from "./folder";
import { type Output, agree } from "./output";
import type { Device, DeviceChoice } from "./protocol";

type Library = Pick<typeof wasm, "InferenceSession" | "Tensor">;

const INPUTS = ["input_ids", "attention_mask", "token_type_ids"];
const OUTPUTS = ["start_logits", "end_logits"];

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
    options: {
      precision: Precision;
      optimised: boolean;
      threads: number;
      device: DeviceChoice;
      pad: number;
      test: Window;
    },
  ): Promise<Session> {
    wasm.env.wasm.numThreads = options.threads;
    // Left to itself, the library looks for further files if the worker is from another host than the page.
    wasm.env.wasm.wasmPaths = { wasm: engine };
    const session = await create(wasm, model, "wasm", options.optimised);
    check(session);
    const plain = new Session(wasm, session, "wasm", options.pad);
    const { device, precision, test } = options;
    if (device === "wasm" || (device === "auto" && precision.startsWith("int8"))) return plain;
    return (await graphics(model, device === "webgpu", plain, test)) ?? plain;
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
      OUTPUTS.map(async (name) => (await output[name]!.getData()) as Float32Array),
    );
    if (starts!.length !== windows.length * width || ends!.length !== starts!.length)
      throw new CheckpointError(
        `the model gave ${starts!.length} start and ${ends!.length} end logits for ${windows.length} windows ` +
          `of ${width} tokens; a reader gives one of each per token`,
      );
    return windows.map((_, row) => ({
      starts: starts!.subarray(row * width, (row + 1) * width),
      ends: ends!.subarray(row * width, (row + 1) * width),
    }));
  }

  async close(): Promise<void> {
    await this.session.release();
  }

  /** The same model by WebGPU; nothing if there is none, or, unless `software` will do, no real graphics processor. */
  async onGraphics(model: Uint8Array, software: boolean): Promise<Session | null> {
    const { gpu } = globalThis.navigator as { gpu?: { requestAdapter(): Promise<GraphicsAdapter | null> } };
    const adapter = await gpu?.requestAdapter();
    if (!adapter || (!software && (adapter.info?.isFallbackAdapter || adapter.isFallbackAdapter))) return null;
    const library = await import("onnxruntime-web/webgpu");
    return new Session(library, await create(library, model, "webgpu"), "webgpu", this.pad);
  }
}

interface GraphicsAdapter {
  isFallbackAdapter?: boolean;
  info?: { isFallbackAdapter?: boolean };
}

/** The session on the graphics processor if it reads a window as the plain one does, which is closed then. */
async function graphics(model: Uint8Array, software: boolean, plain: Session, test: Window): Promise<Session | null> {
  try {
    const session = await plain.onGraphics(model, software);
    if (!session) return null;
    const same = agree(await plain.run([test]), await session.run([test]));
    await (same ? plain : session).close();
    return same ? session : null;
  } catch {
    return null; // a driver that fails is a reason to go on without it, whatever it says
  }
}

function check({ inputNames, outputNames }: wasm.InferenceSession): void {
  const fits =
    inputNames.every((name) => INPUTS.includes(name)) && OUTPUTS.every((name) => outputNames.includes(name));
  if (!fits)
    throw new CheckpointError(
      `the model takes ${inputNames.join(", ")} and gives ${outputNames.join(", ")}; ` +
        `a reader takes ${INPUTS.join(", ")} and gives ${OUTPUTS.join(" and ")}: take a model that was trained for question answering`,
    );
}

function create(
  library: Library,
  model: Uint8Array,
  provider: Device,
  optimised = false,
): Promise<wasm.InferenceSession> {
  return library.InferenceSession.create(model, {
    executionProviders: [provider],
    enableMemPattern: false, // a plan for each shape of batch would be kept for ever
    // To look for what can be fused takes longer than all the rest of opening.
    graphOptimizationLevel: optimised ? "disabled" : "all",
    logSeverityLevel: 3,
  });
}
