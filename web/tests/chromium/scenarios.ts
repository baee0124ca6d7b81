/** What is tried in a browser. Functions given to `evaluate` run in the page, and see nothing of this file. */

import type { Page } from "playwright-core";
import type * as Pocketbert from "../../src/index";
import type { QuestionAndAnswer } from "../../src/qna/qna";

interface Job {
  cases: { question: string; passages: string[]; options: Pocketbert.Options }[];
  long: { question: string; passage: string };
  precision: string;
}

export interface Stage {
  visit(name: string): Promise<Page>;
  /** What the processes behind the pages hold, in megabytes. */
  memory(): Promise<number>;
  job: Job;
}

type Module = typeof Pocketbert;
type Globals = { qna: { load(config?: object): Promise<QuestionAndAnswer>; version: string } };

export const scenarios: Record<string, (stage: Stage) => Promise<unknown>> = {
  /** Every case with the model beside the script: answers, times, and the longest task on the page. */
  async answers({ visit, job }) {
    const page = await visit("plain");
    return page.evaluate(async ({ cases }) => {
      const { load } = (await import("/dist/pocketbert.js" as string)) as Module;
      let longest = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration);
      }).observe({ entryTypes: ["longtask"] });
      const stages: string[] = [];
      let bytes = { loaded: 0, total: 0 };
      const start = performance.now();
      const reader = await load({
        progress: ({ stage, loaded, total }) => {
          if (stages.at(-1) !== stage) stages.push(stage);
          bytes = { loaded, total };
        },
      });
      const loading = performance.now() - start;
      const results = [];
      for (const { question, passages, options } of cases) {
        const begin = performance.now();
        const result = await reader.among(question, passages, options);
        results.push({ result, milliseconds: performance.now() - begin });
      }
      const { device, threads, calibrated } = reader;
      return { results, loading, stages, bytes, longest, device, threads, calibrated };
    }, job);
  },

  /**
   * A long page: progress, a cancelled reading, a reading after it, a deadline, errors, and the end of the worker.
   */
  async life({ visit, memory, job }) {
    const page = await visit("plain");
    const outcome = await page.evaluate(async ({ long: { question, passage } }) => {
      const { load } = (await import("/dist/pocketbert.js" as string)) as Module;
      const failure = (promise: Promise<unknown>) =>
        promise.then(
          () => null,
          (error: Error) => ({ name: error.name, message: error.message }),
        );
      const aborted = await failure(load({ signal: AbortSignal.abort() }));
      const stopping = new AbortController();
      const stoppedLoad = await failure(load({ signal: stopping.signal, progress: () => stopping.abort() }));
      const reader = await load();
      const controller = new AbortController();
      const seen: [number, number][] = [];
      const start = performance.now();
      const reading = reader.answer(question, passage, {
        read: "all",
        signal: controller.signal,
        progress: (windows, of) => {
          seen.push([windows, of]);
          if (seen.length === 2) controller.abort();
        },
      });
      const cancelled = await failure(reading);
      const begin = performance.now();
      const pace = (begin - start) / seen.at(-1)![0]; // milliseconds a window
      const after = await reader.answer(question, passage.slice(0, 300));
      const waited = performance.now() - begin;
      const late = await reader.answer(question, passage, { read: "all", deadline: 0 });
      const errors = {
        empty: await failure(reader.answer("  ", passage)),
        type: await failure(reader.answer("Who?", null as never)),
        option: await failure(reader.answer("Who?", passage, { topk: 3 } as never)),
        long: await failure(reader.answer("why ".repeat(400), passage)),
      };
      Object.assign(globalThis, { reader });
      return { aborted, stoppedLoad, cancelled, seen, pace, after, waited, late: late.read, errors };
    }, job);
    const held = await memory();
    const disposed = await page.evaluate(async ({ long: { question, passage } }) => {
      const { reader } = globalThis as unknown as { reader: Pocketbert.Reader };
      const message = (promise: Promise<unknown>) => promise.then(String, (error: Error) => error.message);
      const last = message(reader.answer(question, passage, { read: "all" }));
      reader.dispose();
      return [await last, await message(reader.answer(question, passage))];
    }, job);
    // What a worker held is given back some time after it has ended.
    let after = await memory();
    for (let tries = 0; tries < 60 && (page.workers().length > 0 || after > held - 75); tries++) {
      await page.waitForTimeout(500);
      after = await memory();
    }
    const memories = { held, after };
    return { ...outcome, disposed, memories, workers: page.workers().length };
  },

  /** A file that is not the one of the manifest, a folder that is not there, and a worker that is not there. */
  async refusals({ visit }) {
    const page = await visit("plain");
    return page.evaluate(async () => {
      const { load, CheckpointError, PocketbertError } = (await import("/dist/pocketbert.js" as string)) as Module;
      const failure = (options: Pocketbert.LoadOptions) =>
        load(options).then(
          () => null,
          (error: Error) => ({
            message: error.message,
            checkpoint: error instanceof CheckpointError,
            ours: error instanceof PocketbertError,
          }),
        );
      return {
        tampered: await failure({ model: "/tampered" }),
        missing: await failure({ model: "/dist/nowhere/" }),
        worker: await failure({ worker: "/dist/nowhere.js" }),
      };
    });
  },

  /** Threads are only tried on an isolated page; whichever wins, the answer is the same. */
  async threads({ visit, job }) {
    const ask = async (name: string) =>
      (await visit(name)).evaluate(async ({ cases }) => {
        const { load } = (await import("/dist/pocketbert.js" as string)) as Module;
        const reader = await load({ threads: 2 });
        const { question, passages, options } = cases[0]!;
        const { text } = await reader.among(question, passages, options);
        const { device, threads, trials } = reader;
        return { isolated: crossOriginIsolated, threads, device, trials, text };
      }, job);
    return { plain: await ask("plain"), isolated: await ask("isolated") };
  },

  /** WebGPU: a software one is not taken by itself, but can be asked for, and then reads the same. */
  async graphics({ visit, job }) {
    const ask = async (device: Pocketbert.DeviceChoice) =>
      (await visit("plain")).evaluate(
        async ({ cases, device }) => {
          const { load } = (await import("/dist/pocketbert.js" as string)) as Module;
          const reader = await load({ device });
          const { question, passages, options } = cases[0]!;
          const { text, score } = await reader.among(question, passages, options);
          const { gpu } = navigator as { gpu?: { requestAdapter(): Promise<unknown> } };
          return { device: reader.device, offered: Boolean(await gpu?.requestAdapter()), text, score };
        },
        { ...job, device },
      );
    return { auto: await ask("auto"), webgpu: await ask("webgpu"), wasm: await ask("wasm") };
  },

  /** The calls that the documentation of tfjs-models/qna shows, from a script tag of this and of another origin. */
  async script({ visit, job }) {
    const ask = async (name: string) =>
      (await visit(name)).evaluate(async ({ cases }) => {
        const { qna } = globalThis as unknown as Globals;
        const model = await qna.load();
        const found = [];
        for (const { question, passages } of cases) found.push(await model.findAnswers(question, passages[0]!));
        const again = await qna.load({ modelUrl: new URL("model", document.scripts[0]!.src).href });
        const same = await again.findAnswers(cases[0]!.question, cases[0]!.passages[0]!);
        const refused = await model.findAnswers("Who?", null as never).catch((error: Error) => error.name);
        return { found, same, refused, version: qna.version };
      }, job);
    return { own: await ask("script"), foreign: await ask("foreign") };
  },

  /** The same as a module. */
  async module({ visit, job }) {
    return (await visit("plain")).evaluate(async ({ cases }) => {
      const qna = (await import("/dist/qna.module.js" as string)) as Globals["qna"];
      const model = await qna.load();
      const found = [];
      for (const { question, passages } of cases) found.push(await model.findAnswers(question, passages[0]!));
      return { found };
    }, job);
  },
};
