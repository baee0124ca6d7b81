/** A worker, wherever its file is from, and the tasks that it has not answered yet. */

import { InputError, PocketbertError, revived } from "../errors";
import type { Reply, Request, Task } from "./protocol";

export type Listener = ((...values: unknown[]) => void) | undefined;

interface Waiting {
  resolve(value: unknown): void;
  reject(reason: unknown): void;
  listener: Listener;
}

/** A worker and the questions that it has not answered yet. */
export class Connection {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;
  private closed = false;

  constructor(url: URL) {
    this.worker = spawned(url);
    this.worker.onmessage = ({ data }: MessageEvent<Reply>) => this.hear(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.end(new PocketbertError(`the worker ${url.href} failed: ${event.message ?? "it cannot be loaded"}`));
    };
  }

  ask(task: Task, signal?: AbortSignal, listener?: Listener): Promise<unknown> {
    if (this.closed) return Promise.reject(new InputError("the reader was disposed of; load it again"));
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      const cancel = () => {
        this.waiting.delete(id);
        this.send({ id, type: "cancel" });
        reject(signal!.reason);
      };
      const settled = (settle: (value: unknown) => void) => (value: unknown) => {
        signal?.removeEventListener("abort", cancel);
        settle(value);
      };
      signal?.addEventListener("abort", cancel, { once: true });
      this.waiting.set(id, { resolve: settled(resolve), reject: settled(reject), listener });
      this.send({ id, ...task });
    });
  }

  close(): void {
    this.end(new PocketbertError("the reader was disposed of while it was reading"));
  }

  private send(request: Request): void {
    this.worker.postMessage(request);
  }

  private hear(reply: Reply): void {
    const asked = this.waiting.get(reply.id);
    if (!asked) return; // cancelled meanwhile
    if (reply.type === "progress") {
      asked.listener?.(...reply.values);
      return;
    }
    this.waiting.delete(reply.id);
    if (reply.type === "done") asked.resolve(reply.value);
    else asked.reject(revived(reply.name, reply.message));
  }

  private end(reason: Error): void {
    this.closed = true;
    this.worker.terminate();
    for (const { reject } of this.waiting.values()) reject(reason);
    this.waiting.clear();
  }
}

/** A worker of this origin, wherever its file is from: pages that load the package from another host have one too. */
function spawned(url: URL): Worker {
  if (url.origin === globalThis.location.origin) return new Worker(url, { type: "module" });
  const door = URL.createObjectURL(new Blob([`import ${JSON.stringify(url.href)};`], { type: "text/javascript" }));
  try {
    return new Worker(door, { type: "module" });
  } finally {
    // The worker has the blob by then: a revoked address only stops later visitors.
    setTimeout(() => URL.revokeObjectURL(door), 60_000);
  }
}
