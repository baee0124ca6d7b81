/** The worker: it fetches, checks, tokenises and reads, one task after the other, so that the page never waits. */

import { InputError } from "../errors";
import { fetchReader } from "./folder";
import type { Loaded, Reply, Request, Task } from "./protocol";
import { QuestionAnswerer } from "./questions";
import { Session } from "./session";

interface Scope {
  name: string;
  onmessage: ((event: MessageEvent<Request>) => void) | null;
  postMessage(reply: Reply): void;
}

const TRIES = 3;

const scope = self as unknown as Scope;
const cancelled = new Set<number>();
let tasks: Promise<void> = Promise.resolve();
let reader: { questions: QuestionAnswerer; session: Session } | undefined;

// The engine starts its threads as workers of this very file; they have messages of their own.
if (!scope.name.startsWith("em-pthread")) scope.onmessage = ({ data }) => receive(data);

function receive(request: Request): void {
  if (request.type === "cancel") {
    cancelled.add(request.id);
    return;
  }
  tasks = tasks.then(() => perform(request.id, request));
}

async function perform(id: number, task: Task): Promise<void> {
  try {
    scope.postMessage({ id, type: "done", value: await result(id, task) });
  } catch (error) {
    const { name, message } = error as Error;
    scope.postMessage({ id, type: "failed", name, message });
  }
  cancelled.delete(id);
}

async function result(id: number, task: Task): Promise<unknown> {
  await pause(id);
  const progress = (...values: unknown[]) => scope.postMessage({ id, type: "progress", values });
  switch (task.type) {
    case "load":
      return load(task, progress);
    case "measure":
      return measure();
    case "answer": {
      const { questions, session } = loaded();
      return questions.answer(task.question, task.passages, task.choices, (windows) => session.run(windows), {
        progress,
        pause: () => pause(id),
      });
    }
  }
}

async function load(task: Task & { type: "load" }, progress: (value: unknown) => void): Promise<Loaded> {
  let bytes = { loaded: 0, total: 0 };
  const files = await fetchReader(new URL(task.model), (loaded, total) => {
    bytes = { loaded, total };
    progress({ stage: "files", ...bytes });
  });
  progress({ stage: "engine", ...bytes });
  const questions = new QuestionAnswerer(files);
  const session = await Session.open(files.model, {
    precision: files.precision,
    optimised: files.optimised,
    threads: task.threads,
    device: task.device,
    pad: questions.tokenizer.special("pad"),
    test: questions.trialWindow(),
  });
  reader = { questions, session };
  return { device: session.device, calibrated: files.calibrated, positions: files.positions };
}

async function measure(): Promise<number> {
  const { questions, session } = loaded();
  const window = questions.trialWindow();
  let least = Infinity;
  for (let round = 0; round < TRIES; round++) {
    const start = performance.now();
    await session.run([window]);
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

function loaded(): NonNullable<typeof reader> {
  if (!reader) throw new InputError("no model is loaded; load one first");
  return reader;
}

/** Let waiting messages in, and stop here if one of them cancels this task. */
async function pause(id: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
  if (cancelled.has(id)) throw new InputError("the task was cancelled");
}
