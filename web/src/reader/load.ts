/** The page's side: `open` starts a worker and gives a `Reader` that talks to it. */

import { InputError, shown } from "../errors";
import type { Result } from "./answer";
import { Connection, type Listener } from "./connection";
import { type Options, choicesOf } from "./options";
import type { Device, DeviceChoice, LoadProgress, Loaded, Task } from "./protocol";

export interface LoadOptions {
  /** The address of a model folder; by default the folder `model` beside the script. */
  model?: string | URL;
  progress?: (progress: LoadProgress) => void;
  /** Stops the loading; the promise is rejected with the signal's reason. */
  signal?: AbortSignal;
  /** How many threads to try. More than 1 are used if the page is cross-origin isolated and they prove faster. */
  threads?: number;
  /**
   * "auto" takes WebGPU for a model in floating point, if there is a graphics processor and a window reads the same on it.
   * "webgpu" tries it for every model, on whatever the browser offers; if the window reads otherwise, it is "wasm" again.
   */
  device?: DeviceChoice;
  /** Where worker.js lies; by default beside the script. A bundler may have moved it. */
  worker?: string | URL;
}

const DEVICES: readonly DeviceChoice[] = ["auto", "wasm", "webgpu"];

/** Where things are if nobody says otherwise. */
export interface Places {
  worker: string;
  model: string;
}

/** A loaded model that answers questions; all its work is done in a worker. */
export class Reader {
  /** What computes. */
  readonly device: Device;
  readonly threads: number;
  /** How long a window took with one thread and with several, if several were tried. */
  readonly trials: { threads: number; milliseconds: number }[] = [];
  /** Whether the scores were calibrated for this model; if not, they are its bare softmax. */
  readonly calibrated: boolean;
  /** The longest window that the model can read, in tokens; null if its files do not say. */
  readonly positions: number | null;

  constructor(
    private readonly connection: Connection,
    loaded: Loaded,
    threads: number,
  ) {
    this.device = loaded.device;
    this.calibrated = loaded.calibrated;
    this.positions = loaded.positions;
    this.threads = threads;
  }

  /** Answer a question from a passage, which may be of any length. */
  async answer(question: string, passage: string, options: Options = {}): Promise<Result> {
    return this.among(question, [passage], options);
  }

  /** Answer a question from several passages that are read as if they were one document. */
  async among(question: string, passages: readonly string[], options: Options = {}): Promise<Result> {
    if (typeof question !== "string") throw new InputError(`the question is ${shown(question)}; it must be a string`);
    if (!Array.isArray(passages)) throw new InputError(`the passages are ${shown(passages)}; give a list of strings`);
    for (const passage of passages)
      if (typeof passage !== "string") throw new InputError(`the passage is ${shown(passage)}; it must be a string`);
    const task: Task = { type: "answer", question, passages: [...passages], choices: choicesOf(options) };
    return (await this.connection.ask(task, options.signal, options.progress as Listener)) as Result;
  }

  /** End the worker and give all memory back; what is still being read is rejected. */
  dispose(): void {
    this.connection.close();
  }
}

/** Load a model. */
export async function open(options: LoadOptions, places: Places): Promise<Reader> {
  const { threads = 1, device = "auto", signal, progress } = options;
  if (!Number.isInteger(threads) || threads < 1)
    throw new InputError(`threads is ${shown(threads)}; it must be a whole number from 1 up`);
  if (!DEVICES.includes(device))
    throw new InputError(`device is ${shown(device)}; allowed are ${DEVICES.map(shown).join(", ")}`);
  const worker = address(options.worker ?? places.worker, "worker");
  const model = address(options.model ?? places.model, "model");
  if (!model.pathname.endsWith("/")) model.pathname += "/";
  const start = (count: number, listener?: Listener) =>
    started(worker, { type: "load", model: model.href, threads: count, device }, signal, listener);
  const single = await start(1, progress as Listener);
  if (threads === 1 || !globalThis.crossOriginIsolated || single.reader.device !== "wasm") return single.reader;
  return (await faster(single, () => start(threads), signal)).reader;
}

interface Started {
  reader: Reader;
  connection: Connection;
}

async function started(
  worker: URL,
  task: Task & { type: "load" },
  signal?: AbortSignal,
  listener?: Listener,
): Promise<Started> {
  signal?.throwIfAborted();
  const connection = new Connection(worker);
  try {
    const loaded = (await connection.ask(task, signal, listener)) as Loaded;
    return { reader: new Reader(connection, loaded, task.threads), connection };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Which of two readers takes less time for a window; the other is disposed of. */
async function faster(single: Started, start: () => Promise<Started>, signal?: AbortSignal): Promise<Started> {
  const time = async ({ connection }: Started) => (await connection.ask({ type: "measure" }, signal)) as number;
  let many: Started | undefined;
  try {
    many = await start();
    // One after the other: side by side they would fight over the processor.
    const times = [await time(single), await time(many)] as const;
    const [winner, loser] = times[1] < times[0] ? [many, single] : [single, many];
    loser.connection.close();
    [single, many].forEach(({ reader: { threads } }, place) =>
      winner.reader.trials.push({ threads, milliseconds: times[place]! }),
    );
    return winner;
  } catch (error) {
    many?.connection.close();
    if (!signal?.aborted) return single; // one thread works, whatever is wrong with several
    single.connection.close();
    throw error;
  }
}

function address(given: string | URL, what: string): URL {
  try {
    return new URL(given, globalThis.document?.baseURI ?? globalThis.location.href);
  } catch {
    throw new InputError(`the ${what} is ${shown(given)}; it must be an address`);
  }
}
