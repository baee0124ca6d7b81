/** Long work in short pieces, so that the page stays free for whoever uses it. */

const SLICE = 10; // milliseconds

/** Lets the browser draw and listen whenever a slice of time is used up. */
export class Breath {
  private until = performance.now() + SLICE;

  /** Whether it is time for a pause. */
  get due(): boolean {
    return performance.now() >= this.until;
  }

  /** Pause; a signal ends the work here. */
  async take(signal?: AbortSignal): Promise<void> {
    await breathe();
    signal?.throwIfAborted();
    this.until = performance.now() + SLICE;
  }
}

/** A pause that waiting events, and mostly a frame, come before. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
