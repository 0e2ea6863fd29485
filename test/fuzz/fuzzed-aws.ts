import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readCallLog } from '../support/call-log.ts';
import { toClientOptions } from '../../local/endpoints.ts';
import { startLocalSystem } from '../../local/local-system.ts';
import { messagesOn, systemAt } from '../chaos/deployed-system.ts';
import { functionLogs } from '../support/function-logs.ts';
import { isWorkerIn, type Process, processes } from '../support/processes.ts';
import { loggingLauncher } from '../support/logging-launcher.ts';
import { startReceiver } from '../support/receiver.ts';
import { runFolder } from '../support/run-folder.ts';
import { HANG_MS, HangError } from './target.ts';

const settings = {
  apiAuthorization: 'none',
  attemptTimeoutSeconds: '2',
  schedulerThreshold: '4',
  subscriptionCacheSeconds: '0',
  logLevel: 'debug',
};

const DRAINED_WITHIN_MS = 60_000;

/** The deployed system on a separate local AWS, with a receiver on loopback. */
export const startFuzzedAws = async () => {
  const folder = runFolder('fuzz');
  const callLog = join(folder, 'calls.jsonl');
  const signal = new AbortController().signal;
  await using starting = new AsyncDisposableStack();
  const launcher = loggingLauncher({ callLog });
  const { emulator, endpoints } = await startLocalSystem({ folder, settings, launcher, signal });
  starting.defer(async () => {
    await emulator.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const receiver = await startReceiver();
  starting.defer(() => receiver.close());
  const system = systemAt(endpoints);
  const logsOf = functionLogs(toClientOptions(endpoints));
  const functions = Object.values(endpoints.functions);

  const countsOf = (queueUrls: readonly string[]): Promise<number[]> =>
    Promise.all(queueUrls.map((url) => messagesOn(system, url)));

  /** Waits until the messages on these queues are processed. `before`: how many may stay on each, such as pauses. */
  const drained = async (queueUrls: readonly string[], before: readonly number[] = []): Promise<void> => {
    const deadline = Date.now() + DRAINED_WITHIN_MS;
    for (;;) {
      const counts = await countsOf(queueUrls);
      if (counts.every((count, index) => count <= (before[index] ?? 0))) return;
      if (Date.now() > deadline)
        throw new HangError(`messages stay on ${queueUrls.join(', ')}: ${counts.join()}`);
      await pause(50);
    }
  };

  /**
   * What the functions did since this time (milliseconds since the epoch).
   * @throws AssertionError if one failed, logged a secret, or uses more than its memory; HangError
   */
  const checkFunctions = async (since: number, secret: string): Promise<void> => {
    for (const line of await logsOf(functions, since)) {
      assert(!line.includes(secret), `a secret is in the log line ${line}`);
      assert(!/"level":"ERROR"|Task timed out|Runtime\.|Unhandled/.test(line), line);
    }
    const invocations = readCallLog(callLog).filter((entry) => entry.kind === 'invocation');
    for (const { function: name, ms, cpuMs } of invocations.filter(({ at, cold }) => at >= since && !cold))
      // Deliver waits for subscribers, and all wait for the processor: its time is that of the function.
      if ((cpuMs ?? ms) > HANG_MS) throw new HangError(`${name} took ${cpuMs ?? ms} ms`);
    checkMemory(
      new Map(invocations.map((one) => [one.function, one.memoryMegabytes])),
      (await processes()).filter((one) => isWorkerIn(folder, one)),
    );
  };

  const stack = starting.move();
  return {
    apiUrl: endpoints.apiUrl,
    system,
    receiver,
    countsOf,
    drained,
    checkFunctions,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
};

export type FuzzedAws = Awaited<ReturnType<typeof startFuzzedAws>>;

/** AWS ends a function that uses more memory than it has. `limits`: megabytes by function. */
const checkMemory = (limits: ReadonlyMap<string, number>, workers: readonly Process[]): void => {
  for (const { command, residentBytes } of workers)
    for (const [name, megabytes] of limits)
      if (command.includes(`${name}-`))
        assert(residentBytes < megabytes * 2 ** 20, `${name} uses ${residentBytes} bytes`);
};
