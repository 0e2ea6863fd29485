import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { Problem } from '../../local/install/problem.mjs';
import { bundle } from '../../test/support/bundle.ts';

/** What a run of a function came to, in its process alone. */
const run = z.object({
  cpuMs: z.number(),
  /** Of V8's heap, while it ran. */
  allocatedBytes: z.number(),
  /** Of V8's heap, afterwards, when all garbage was collected. */
  heapBytes: z.number(),
  /** The most that the process has had since it began. */
  peakResidentBytes: z.number(),
  /** Messages that were not acknowledged. */
  failed: z.number(),
});

export type Run = z.output<typeof run>;

/**
 * Handles the messages of a queue, ten at a time.
 * @throws Problem when a message was not acknowledged: what took how long would say nothing
 */
export type MeasuredFunction = (bodies: readonly string[]) => Promise<Run>;

type FunctionOptions = {
  name: string;
  entry: URL;
  /** Nothing of the caller's is passed on: it could change what is measured. */
  env: Readonly<Record<string, string>>;
  /** Where its bundle and its log go. */
  folder: string;
};

/** How much of what a process complained about is kept, in characters. */
const MOST_COMPLAINT = 4_000;

/** A function in a process of its own, built as for its deployment. It ends with the stack. */
export async function startFunction(
  stack: AsyncDisposableStack,
  { name, entry, env, folder }: FunctionOptions,
): Promise<MeasuredFunction> {
  const file = join(folder, `${name}.mjs`);
  await bundle(entry, file);
  const log = stack.adopt(openSync(join(folder, `${name}.log`), 'a'), closeSync);
  const child = fork(new URL('function-process.ts', import.meta.url), [file], {
    stdio: ['ignore', log, 'pipe', 'ipc'],
    execArgv: ['--expose-gc', ...profiling(name)],
    env: { ...env, UV_THREADPOOL_SIZE: '64' },
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-MOST_COMPLAINT);
  });
  const ended = once(child, 'exit');
  stack.defer(async () => {
    // It ends by itself when nobody is there any more, and leaves its profile if it was to make one.
    if (child.connected) child.disconnect();
    await ended;
  });
  const died = ended.then((): never => {
    throw new Problem(`${name} ended before it was asked to. ${complaint}`);
  });
  // Nobody may be asking when it ends.
  died.catch(() => undefined);

  return async (bodies) => {
    const answered = once(child, 'message');
    child.send({ bodies });
    const message: unknown[] = await Promise.race([answered, died]);
    const result = run.parse(message[0]);
    if (result.failed > 0)
      throw new Problem(`${name} did not acknowledge ${result.failed} of ${bodies.length} messages.`);
    return result;
  };
}

/** Where the time goes: `BENCH_PROFILE=<folder>` leaves a profile of each process in it, for Chrome's developer tools. */
function profiling(name: string): string[] {
  const folder = process.env['BENCH_PROFILE'];
  return folder === undefined
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`];
}
