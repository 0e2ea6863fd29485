import { startLocalSystem } from '../../local/local-system.ts';
import { seededChance } from '../support/chance.ts';
import { startReceiver } from '../support/receiver.ts';
import { runFolder } from '../support/run-folder.ts';
import { wholeNumber } from '../support/whole-number.ts';
import { type Books, booksOf, isLost, unexplainedDuplicatesOf, redriveAll } from './books.ts';
import { callBy, messagesOn, reconcileOnce, subscribeAll, type System, systemAt } from './deployed-system.ts';
import { startFaultProxy, faultLog, type FaultLog } from './fault-proxy.ts';
import { type Ledger, ledgerOf, type NamedPair } from './ledger.ts';
import { listen } from './subscribers.ts';
import { messagesFor, publishAll } from './traffic.ts';
import { startFleet, killWorkers } from './worker-fleet.ts';
import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const settings = {
  apiAuthorization: 'none',
  // Short, for a fast recovery after a crash: deliver's visibility timeout is this + 20 s.
  attemptTimeoutSeconds: '2',
  schedulerThreshold: '4',
  subscriptionCacheSeconds: '0',
  overdueAfterSeconds: '5',
};

/** `workers`: processes of `posthaste worker` beside the functions. */
export type ChaosRequest = { messages: number; seed: number; workers: number };

type ChaosResult = { books: Books; faults: Record<string, number>; seconds: number };

/** Parses the arguments of the command; undefined if they are invalid. */
export const chaosRequestOf = (args: readonly string[]): (ChaosRequest & { json: boolean }) | undefined => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        messages: { type: 'string', default: '2000' },
        seed: { type: 'string', default: '1' },
        workers: { type: 'string', default: '0' },
        json: { type: 'boolean', default: false },
      },
    });
    // The local AWS cannot handle more messages.
    const messages = wholeNumber(values.messages, 1, 5_000);
    const seed = wholeNumber(values.seed, 0, 4_294_967_290);
    const workers = wholeNumber(values.workers, 0, 5);
    if (messages === undefined || seed === undefined || workers === undefined) return undefined;
    return { messages, seed, workers, json: values.json };
  } catch {
    // parseArgs throws for unknown arguments; the caller prints the usage line.
    return undefined;
  }
};

type Say = (line: string) => void;
type Stack = AsyncDisposableStack;

/** How long faults continue after the last publish, so that they also affect retries and duplicates. */
const FAULTS_AFTER_MS = 60_000;

/** How long all deliveries may take to finish: some visibility timeouts (35 s at most) and the work itself. */
const patienceMs = ({ messages }: ChaosRequest): number => 600_000 + messages * 100;

const LOOK_INTERVAL_MS = 3_000;

/**
 * Deploys the system on a separate local AWS, and sends messages through it while its functions are killed and their
 * calls fail. If the result does not balance, the logs stay until the next run.
 */
export const runChaos = async (
  request: ChaosRequest,
  say: Say,
  signal: AbortSignal,
): Promise<ChaosResult> => {
  const startedAt = Date.now();
  const folder = runFolder('chaos');
  const faults = faultLog();
  await using stack = new AsyncDisposableStack();
  const { emulator, endpoints } = await startLocalSystem({ folder, settings, signal });
  stack.defer(() => emulator.stop());
  const pairs = await runWithFaults(stack, {
    request,
    system: systemAt(endpoints),
    folder,
    faults,
    say,
    signal,
  });
  const books = booksOf(pairs, faults);
  explain(pairs, faults, say);
  await stack.disposeAsync();
  if (isBalanced(books)) rmSync(folder, { recursive: true, force: true });
  else say(`The logs are in ${folder}.`);
  return { books, faults: faults.counts(), seconds: Math.round((Date.now() - startedAt) / 1000) };
};

export const isBalanced = ({ lost, unexplainedDuplicates }: Books): boolean =>
  lost + unexplainedDuplicates === 0;

type Run = {
  request: ChaosRequest;
  system: System;
  folder: string;
  faults: FaultLog;
  say: Say;
  signal: AbortSignal;
};

const runWithFaults = async (stack: Stack, run: Run): Promise<NamedPair[]> => {
  const { request, system, faults, say, signal } = run;
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const log = listen(receiver, request.seed);
  const proxy = await startFaultProxy(system.endpoints.endpoint, seededChance(request.seed + 1), faults);
  stack.defer(() => proxy.close());
  await callBy(system, proxy.origin);
  const listeners = await subscribeAll(system, (path) => receiver.url(path));
  const chance = seededChance(request.seed + 2);
  const messages = messagesFor(request.messages, chance);
  const ledger = ledgerOf(system, { messages, listeners }, log);

  const calm = new AbortController();
  const ended = AbortSignal.any([calm.signal, signal]);
  proxy.setFaulty(true);
  const killing = killWorkers(run.folder, seededChance(request.seed + 3), faults, ended);
  const fleet = startFleet(request.workers, { ...run, endpoints: system.endpoints, proxy: proxy.origin });
  stack.defer(() => fleet.stop());
  const disturbing = request.workers > 0 && fleet.disturb(seededChance(request.seed + 4), faults, ended);
  const reconciling = reconcileRepeatedly(run, stack);
  say(`Publishing ${messages.length} messages under fire.`);
  try {
    await publishAll(system, messages, { chance, faults, say, signal });
    say('All are published; the faults go on for a minute.');
    await waitUntil(run, ledger, Date.now() + FAULTS_AFTER_MS, () => false);
  } finally {
    proxy.setFaulty(false);
    calm.abort();
    await Promise.all([killing, disturbing]);
  }
  say('The faults are over.');
  await waitUntil(run, ledger, Date.now() + patienceMs(request), ({ open, queued }) => open + queued === 0);
  await reconciling.stop();
  return ledger.pairs();
};

/**
 * Invokes reconcile every few seconds instead of every minute, to shorten the run. A call that fails is made again, as
 * EventBridge does: on a busy machine it can time out.
 */
const reconcileRepeatedly = ({ system, signal, say }: Run, stack: Stack) => {
  const stopping = new AbortController();
  const ended = AbortSignal.any([stopping.signal, signal]);
  const loop = (async () => {
    while (!ended.aborted) {
      await reconcileOnce(system).catch((error: unknown) => {
        say(`Reconcile failed: ${String(error)}`);
      });
      await pause(5_000, undefined, { signal: ended }).catch(() => undefined);
    }
  })();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await loop;
  };
  stack.defer(stop);
  return { stop };
};

type State = { open: number; queued: number };

/** Redrives dead letters and checks the state every few seconds, until `isEnough` or the deadline. */
const waitUntil = async (
  { system, faults, say, signal }: Run,
  ledger: Ledger,
  deadline: number,
  isEnough: (state: State) => boolean,
): Promise<void> => {
  for (;;) {
    signal.throwIfAborted();
    const redriven = await redriveAll(system, signal);
    if (redriven > 0) say(`${redriven} dead letters redriven.`);
    const state = { open: await ledger.open(), queued: await queuedIn(system) };
    const counts = JSON.stringify(faults.counts());
    say(`${state.open} messages unfinished, ${state.queued} on the work queues; ${counts}`);
    if (isEnough(state) || Date.now() > deadline) return;
    await pause(LOOK_INTERVAL_MS, undefined, { signal });
  }
};

/** Messages on the work queues. Until these are empty, a copy could still cause a duplicate request. */
const queuedIn = async (system: System): Promise<number> => {
  const { endpoints } = system;
  const urls = [
    ...[endpoints.ingressQueueUrl, endpoints.deliveryQueueUrl, endpoints.retryQueueUrl],
    ...[endpoints.ingressDeadLetterUrl, endpoints.deliveryDeadLetterUrl],
  ];
  const counts = await Promise.all(urls.map((url) => messagesOn(system, url)));
  return counts.reduce((sum, count) => sum + count, 0);
};

/** Prints the first deliveries that are lost or have unexplained duplicates. */
const explain = (pairs: readonly NamedPair[], faults: FaultLog, say: Say): void => {
  const wrong = pairs.filter((one) => isLost(one) || unexplainedDuplicatesOf(one, faults).length > 0);
  for (const { name, record, replies, ...pair } of wrong.slice(0, 20)) {
    const unexplained = unexplainedDuplicatesOf({ ...pair, record, replies }, faults);
    say(`${name}: ${JSON.stringify({ record, replies, unexplained })}`);
  }
};
