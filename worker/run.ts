import { once } from 'node:events';
import { composeDeliver } from '../functions/deliver/compose.ts';
import { composeDispatch } from '../functions/dispatch/compose.ts';
import { composeOperate } from '../functions/operate/compose.ts';
import { composeReconcile } from '../functions/reconcile/compose.ts';
import type { AwsAccess } from '../shared/adapters/aws/client-options.ts';
import type { LambdaJournal } from '../shared/adapters/log/journal.ts';
import { sqsClient } from '../shared/adapters/sqs/client.ts';
import type { ConsumedQueue, RecordHandling } from '../shared/adapters/sqs/failed-records.ts';
import type { Source } from '../shared/config/environment.ts';
import type { WorkerStep } from '../shared/config/rules.ts';
import type { InvocationContext } from '../shared/domain/receives.ts';
import {
  type Consumer,
  type ConsumerLimits,
  EXTEND_EVERY_MS,
  isRefusal,
  startConsumer,
  WorkerRefusedError,
} from './consume.ts';
import { createBell, every, type Stop, type WorkerClock } from './timing.ts';
import { receivingClient, sqsWorkQueue, type WorkQueue } from './work-queue.ts';

export type WorkerOptions = {
  steps: WorkerSteps;
  /** Of each queue. */
  limits: ConsumerLimits;
  /** From the stop to the end of the process. */
  shutdownSeconds: number;
  /** Stops the worker. */
  signal: AbortSignal;
  clock: WorkerClock;
  openQueue: (queue: Pick<WorkQueue, 'name'> & { url: string }) => WorkQueue;
  /** Called once, when AWS let the worker read. Its error ends the worker. Returns what to close after the work. */
  onStart?: (state: () => WorkerState) => Promise<(() => Promise<void>) | undefined>;
};

/** `starting` until SQS has answered for each queue. */
export type WorkerState = {
  status: 'starting' | 'ready' | 'stopping';
  queues: Record<string, { inFlight: number }>;
};

/** How often a step writes its metrics, counters and gathered log lines. A crash loses as much of them. */
const FLUSH_EVERY_MS = 1_000;

const RECONCILE_EVERY_MS = 60_000;

/** Kept of the time for the shutdown: the last deletions, log lines and counters. */
const ENDING_MS = 2_000;

/** From the stop to the end of receives that found nothing. */
const RECEIVE_ENDS_MS = 1_000;

/** Opens the queues of SQS. `access`: by default the SDK's own region and chain of credentials. */
export function sqsQueues(access: AwsAccess, clock: WorkerClock): WorkerOptions['openQueue'] {
  const receiver = receivingClient(access);
  const sqs = sqsClient(access);
  const sleep = async (milliseconds: number): Promise<void> => void (await clock.sleep(milliseconds));
  return (queue) => sqsWorkQueue(queue, { receiver, sqs, sleep });
}

/**
 * Runs the steps until the signal is aborted. Then it receives nothing more, finishes what is in flight within
 * `shutdownSeconds`, and returns. `unfinished`: records that were still being handled; they become visible again by
 * themselves.
 * @throws WorkerRefusedError if AWS refuses the worker at its start
 */
export async function runWorker(options: WorkerOptions): Promise<{ unfinished: number }> {
  const { steps, clock, shutdownSeconds, signal } = options;
  const failed = new AbortController();
  const stop = createStop(AbortSignal.any([signal, failed.signal]), shutdownSeconds, clock);
  const ended = new AbortController();
  await Promise.all(steps.consuming.map(({ check }) => check()));
  let started: ReadonlyMap<string, Consumer> | undefined;
  const close = await options.onStart?.(() => readState(started, stop));
  const consumers = (started = createConsumers(options, stop));
  const chores = [
    every(clock, EXTEND_EVERY_MS, { signal: ended.signal, work: () => extendAll(consumers) }),
    every(clock, FLUSH_EVERY_MS, { signal: ended.signal, work: () => flushAll(steps) }),
  ];
  const work = [...consumers.values()].map(({ done }) => done);
  if (steps.reconcile !== undefined) work.push(reconcileEveryMinute(steps.reconcile, { stop, clock }));
  try {
    await Promise.race([Promise.all(work), awaitEnd(stop, clock, ended.signal)]);
  } finally {
    failed.abort();
    ended.abort();
    await Promise.all([...chores, close?.()]);
    await flushAll(steps);
  }
  return { unfinished: [...consumers.values()].reduce((sum, { state }) => sum + state().inFlight, 0) };
}

function createConsumers(options: WorkerOptions, stop: Stop): ReadonlyMap<string, Consumer> {
  const { steps, limits, clock, openQueue } = options;
  const bell = createBell(clock, stop);
  const means = { limits, stop, bell, clock };
  return new Map(
    steps.consuming.flatMap(({ queues, handling, journal, timeoutMs }) =>
      queues.map((queue): [string, Consumer] => [
        queue.name,
        startConsumer({ ...means, queue: openQueue(queue), handling, journal, timeoutMs }),
      ]),
    ),
  );
}

function readState(consumers: ReadonlyMap<string, Consumer> | undefined, { signal }: Stop): WorkerState {
  const states = [...(consumers ?? [])].map(([name, { state }]) => ({ name, ...state() }));
  const isReady = consumers !== undefined && states.every((one) => one.isReady);
  return {
    status: signal.aborted ? 'stopping' : isReady ? 'ready' : 'starting',
    queues: Object.fromEntries(states.map(({ name, inFlight }) => [name, { inFlight }])),
  };
}

function createStop(signal: AbortSignal, shutdownSeconds: number, clock: WorkerClock): Stop {
  let endsAt = Infinity;
  const receiving = new AbortController();
  signal.addEventListener('abort', () => {
    endsAt = clock.now() + Math.max(0, shutdownSeconds * 1000 - ENDING_MS);
    void clock.sleep(RECEIVE_ENDS_MS).then(() => {
      receiving.abort();
    });
  });
  return { signal, receiving: receiving.signal, endsAt: () => endsAt };
}

/** Resolves when the time for the shutdown is over, or once the signal is aborted. */
async function awaitEnd(stop: Stop, clock: WorkerClock, signal: AbortSignal): Promise<void> {
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  // A timer that is left behind would keep the process running.
  await clock.sleep(stop.endsAt() - clock.now(), signal).catch(() => undefined);
}

async function extendAll(consumers: ReadonlyMap<string, Consumer>): Promise<void> {
  // An extension that fails shows a message to others early, which claims allow for.
  await Promise.allSettled([...consumers.values()].map(({ extend }) => extend()));
}

async function flushAll({ consuming, reconcile }: WorkerSteps): Promise<void> {
  await Promise.all(consuming.map(async ({ journal }) => journal.flush()));
  await reconcile?.journal.flush();
}

/** @throws WorkerRefusedError in the first run. Later faults are logged, and the next run continues. */
async function reconcileEveryMinute(
  { journal, run }: TimedStep,
  { stop, clock }: { stop: Stop; clock: WorkerClock },
): Promise<void> {
  let isFirst = true;
  const runOnce = async (): Promise<void> => {
    const endsAt = clock.now() + RECONCILE_EVERY_MS;
    try {
      await run({ getRemainingTimeInMillis: () => Math.min(endsAt, stop.endsAt()) - clock.now() });
    } catch (error) {
      if (isFirst && isRefusal(error)) throw new WorkerRefusedError('Reading overdue deliveries', error);
      journal.fault(error, {});
    }
    isFirst = false;
  };
  await runOnce();
  await every(clock, RECONCILE_EVERY_MS, { signal: stop.signal, work: runOnce });
}

type StepJournal = Omit<LambdaJournal, 'flush'> & { flush: () => void | Promise<void> };

/** A step that consumes queues. */
export type ConsumingStep = {
  name: WorkerStep;
  journal: StepJournal;
  queues: readonly ConsumedQueue[];
  handling: RecordHandling;
  /** Of one record, in milliseconds. */
  timeoutMs: number;
  /** @throws WorkerRefusedError if AWS refuses to let this worker read the state */
  check: () => Promise<void>;
};

/** Reconcile, which runs once a minute. */
type TimedStep = { journal: StepJournal; run: (context: InvocationContext) => Promise<unknown> };

type WorkerSteps = { consuming: readonly ConsumingStep[]; reconcile?: TimedStep };

/** The steps with the ports of the functions. @throws EnvironmentError with every missing or invalid variable */
export function composeSteps(
  names: readonly WorkerStep[],
  environment: Source,
  access: AwsAccess,
): WorkerSteps {
  const compositions = { dispatch: composeDispatch, deliver: composeDeliver, operate: composeOperate };
  const consuming = names.flatMap((name) =>
    name === 'reconcile' ? [] : [consumingStep(name, compositions[name](environment, access))],
  );
  if (!names.includes('reconcile')) return { consuming };
  const { journal, deadline, run } = composeReconcile(environment, access);
  const timed = deadline.timed((_: unknown, context: InvocationContext) => run(context));
  return { consuming, reconcile: { journal, run: (context) => timed(undefined, context) } };
}

type Composition = ReturnType<typeof composeDispatch | typeof composeDeliver | typeof composeOperate>;

function consumingStep(name: WorkerStep, composed: Composition): ConsumingStep {
  const { journal, deadline, queues, timeoutMs, handleRecord, probe } = composed;
  const { returnSooner, deadLetters, idsOf } = composed;
  return {
    name,
    journal,
    timeoutMs,
    queues,
    // The clients of the step find the time that is left for a record as they do for an invocation.
    handling: { handleRecord: deadline.timed(handleRecord), returnSooner, deadLetters, idsOf },
    check: async () => {
      try {
        await probe();
      } catch (error) {
        if (isRefusal(error)) throw new WorkerRefusedError(`Reading the tables for ${name}`, error);
      }
    },
  };
}
