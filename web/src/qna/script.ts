/** The drop-in for tfjs-models/qna for a script tag: it makes the global `qna`. */

import { version } from "../version";
import { type ModelConfig, loadModel } from "./qna";

// Only while the script runs does the document know which one it is.
const script = (document.currentScript as HTMLScriptElement | null)?.src ?? document.baseURI;
const places = { worker: new URL("worker.js", script).href, model: new URL("model/", script).href };

Object.assign(globalThis, { qna: { load: (config?: ModelConfig) => loadModel(config, places), version } });
