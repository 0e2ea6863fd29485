import { fork } from 'node:child_process';
import * as z from 'zod';
import { shareOnLambda, stopInTurns } from './processor.ts';

/** One run of a function. All figures are of its process alone. */
const run = z.object({
  cpuMs: z.number(),
  /** Of V8's heap, during the run. */
  allocatedBytes: z.number(),
  /** Of V8's heap, after the run and a collection. */
  heapBytes: z.number(),
  /** The most memory since the start of the process. */
  peakBytes: z.number(),
  /** The places of the messages that were not acknowledged. */
  failed: z.array(z.number()),
});

export type Run = z.output<typeof run>;

export type FunctionProcess = {
  /** Handles messages, ten in an invocation. Undefined: the process ended first. */
  invoke: (bodies: readonly string[]) => Promise<Run | undefined>;
  kill: () => void;
  /** The end of its standard error. */
  complaint: () => string;
};

type Options = {
  /** Made by test/support/bundle.ts. */
  bundle: string;
  /** Nothing of the caller's environment is passed on: it could change the figures. */
  env: Readonly<Record<string, string>>;
  /** Limits heap and processor as Lambda does. @default no limit, and memory is collected before and after each run */
  megabytes?: number;
};

/** Characters. */
const MAX_COMPLAINT = 4_000;

/** A function in a separate process, which ends with the stack. */
export function startFunction(
  stack: AsyncDisposableStack,
  { bundle, env, megabytes }: Options,
): FunctionProcess {
  const memory =
    megabytes === undefined ? '--expose-gc' : `--max-old-space-size=${Math.floor(megabytes * 0.9)}`;
  const child = fork(new URL('function-process.ts', import.meta.url), [bundle], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: [memory, ...profiling()],
    env: { ...env },
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-MAX_COMPLAINT);
  });
  const ended = new Promise((resolve) => child.once('exit', resolve)).then(() => undefined);
  // Messages to a process that has just ended.
  child.on('error', () => undefined);
  if (megabytes !== undefined) void stopInTurns(child, shareOnLambda(megabytes));
  stack.defer(async () => {
    if (megabytes !== undefined) child.kill('SIGKILL');
    // Exits by itself, after its profile is written.
    else if (child.connected) child.disconnect();
    await ended;
  });
  return {
    invoke: async (bodies) => {
      const answered = new Promise((resolve) => child.once('message', resolve));
      child.send({ bodies });
      const answer = await Promise.race([answered, ended]);
      return run.optional().parse(answer);
    },
    kill: () => child.kill('SIGKILL'),
    complaint: () => complaint,
  };
}

/** `BENCH_PROFILE=<folder>` writes a profile of each process there, for Chrome's developer tools. */
function profiling(): string[] {
  const folder = process.env['BENCH_PROFILE'];
  return folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];
}
