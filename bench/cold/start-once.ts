import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { Problem } from '../../local/install/problem.mjs';

const taken = z.object({ cpuMs: z.number(), wallMs: z.number() });

const report = z.object({ load: taken, first: taken, answer: z.unknown() });

/** What loading the module took, and the first invocation. Milliseconds. */
export type Start = Pick<z.infer<typeof report>, 'load' | 'first'>;

export type Program = { name: string; bundle: string; event: string; env: Readonly<Record<string, string>> };

/** Milliseconds for all of it; it takes less than one second, and some on a machine with a lot to do. */
const PATIENCE_MS = 60_000;

const script = fileURLToPath(new URL('one-start.mjs', import.meta.url));

/** Records that a function did not acknowledge, or an answer of the API that tells of a fault. */
const failure = z.union([
  z.object({ batchItemFailures: z.array(z.unknown()).min(1) }),
  z.object({ statusCode: z.number().min(400) }),
]);

/**
 * One program in a process of its own, which ends with it.
 * @throws Problem when it failed: what it took then says nothing
 */
export const startOnce = async (
  { name, bundle, event, env }: Program,
  signal: AbortSignal,
): Promise<Start> => {
  // Nothing of the caller's environment is passed on: it could change what is measured.
  const child = spawn(process.execPath, [script, bundle, event], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: { ...env },
    timeout: PATIENCE_MS,
    signal,
  });
  const [complaint, said] = await Promise.all([
    text(readableOf(child.stdio[2])),
    text(readableOf(child.stdio[3])),
    once(child, 'close'),
  ]);
  if (said === '') throw new Problem(`${name} did not start. ${complaint.slice(0, MOST_COMPLAINT)}`);
  const { answer, ...start } = report.parse(JSON.parse(said));
  if (failure.safeParse(answer).success)
    throw new Problem(`${name} could not do what it was asked: ${JSON.stringify(answer)}`);
  return start;
};

/** How much of what a process complained about is shown, in characters. */
const MOST_COMPLAINT = 4_000;

const readableOf = (stream: unknown): Readable => {
  if (stream instanceof Readable) return stream;
  throw new Error('A process came without one of its pipes.');
};
