/**
 * Ask a text a question in the browser, and get the exact words, where they stand and how sure the reader is; or an
 * honest "not on this page". Nothing leaves the page.
 */

import { here } from "./reader/here";
import { type LoadOptions, type Reader, open } from "./reader/load";

/** Load a reader: by default the model beside this script. */
export function load(options: LoadOptions = {}): Promise<Reader> {
  return open(options, here);
}

export type { LoadOptions, Reader } from "./reader/load";
export type { Answer, Read, Result, Sentence, WindowReport } from "./reader/answer";
export type { Options } from "./reader/options";
export type { Device, DeviceChoice, LoadProgress } from "./reader/protocol";
export { CheckpointError, ConfigError, InputError, PocketbertError, TokenizerError } from "./errors";
export { version } from "./version";
