/** What the page and its worker say to each other: requests with a number, and replies that carry the same one. */

import type { Choices } from "./options";

export type Device = "wasm" | "webgpu";
/** What may compute: see `LoadOptions.device`. */
export type DeviceChoice = "auto" | Device;

/** How far loading has come. */
export interface LoadProgress {
  /** "files" while they are fetched and checked, "engine" while the model is made ready. */
  stage: "files" | "engine";
  /** Bytes so far, and in all; 0 while that is not known. */
  loaded: number;
  total: number;
}

/** What a worker says of itself once it has loaded. */
export interface Loaded {
  device: Device;
  /** Whether the model folder has a calibration of its own. */
  calibrated: boolean;
  /** The longest window that the model can read; null if its config.json does not say. */
  positions: number | null;
}

export type Task =
  | { type: "load"; model: string; threads: number; device: DeviceChoice }
  | { type: "answer"; question: string; passages: string[]; choices: Choices }
  /** Milliseconds for one window, the least of a few tries. */
  | { type: "measure" };

export type Request = { id: number } & (Task | { type: "cancel" });

export type Reply = { id: number } & (
  | { type: "progress"; values: unknown[] }
  | { type: "done"; value: unknown }
  | { type: "failed"; name: string; message: string }
);
