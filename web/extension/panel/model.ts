/** The panel's one reader: loaded when the panel opens, so that it is ready by the time a question is typed. */

import { type LoadProgress, type Reader, load } from "../../src/index";

type Listener = (progress: LoadProgress) => void;

export class Model {
  private loading: Promise<Reader> | undefined;
  private reader: Reader | undefined;
  private progress: LoadProgress = { stage: "files", loaded: 0, total: 0 };
  private readonly listeners = new Set<Listener>();

  /** Begin to load; once it has failed, the next call tries again. */
  start(): Promise<Reader> {
    this.loading ??= load({
      model: chrome.runtime.getURL("model/"),
      progress: (progress) => {
        this.progress = progress;
        for (const listener of this.listeners) listener(progress);
      },
    }).then(
      (reader) => (this.reader = reader),
      (error: unknown) => {
        this.loading = undefined;
        throw error;
      },
    );
    return this.loading;
  }

  /** The reader, with news about its loading; a signal ends the waiting, not the loading, which others wait for too. */
  async ready(listener: Listener, signal: AbortSignal): Promise<Reader> {
    if (this.reader) return this.reader; // nothing to tell
    listener(this.progress);
    this.listeners.add(listener);
    try {
      return await Promise.race([this.start(), rejection(signal)]);
    } finally {
      this.listeners.delete(listener);
    }
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
