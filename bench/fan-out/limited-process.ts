import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';

/** Lambda gives a function a whole processor at 1,769 MB, and less in proportion (Lambda developer guide, "Configure Lambda function memory"). */
const WHOLE_PROCESSOR_MB = 1_769;

/** Milliseconds in which a process gets its share once. */
const PERIOD_MS = 50;

const answer = z.object({ failed: z.array(z.number()), peakBytes: z.number() });

export type Invoked = z.output<typeof answer>;

/** A process with as much memory and processor as a function of that size has. It ends with the stack. */
export type LimitedProcess = {
  /** Undefined: it died. */
  invoke: (bodies: readonly string[]) => Promise<Invoked | undefined>;
  kill: () => void;
};

type Options = { bundle: string; env: Readonly<Record<string, string>>; megabytes: number };

export function startLimited(
  stack: AsyncDisposableStack,
  { bundle, env, megabytes }: Options,
): LimitedProcess {
  const child = fork(new URL('process.ts', import.meta.url), [bundle], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: [`--max-old-space-size=${Math.floor(megabytes * 0.9)}`],
    env: { ...env },
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
    });
    // What is sent to one that has just died.
    child.on('error', () => {
      resolve();
    });
  });
  void share(child, megabytes / WHOLE_PROCESSOR_MB);
  stack.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    invoke: async (bodies) => {
      const answered = once(child, 'message').then(([message]: unknown[]) => answer.parse(message));
      child.send({ bodies });
      return Promise.race([answered, ended.then(() => undefined)]);
    },
    kill: () => child.kill('SIGKILL'),
  };
}

/** Stops it for the rest of each period. */
async function share(child: ChildProcess, part: number): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGCONT');
    await setTimeout(PERIOD_MS * part);
    child.kill('SIGSTOP');
    await setTimeout(PERIOD_MS * (1 - part));
  }
}
