import { setTimeout as pause } from 'node:timers/promises';

import type { KindName } from './kinds/all-kinds.ts';
import { BATCH } from './modelled-queue.ts';
import {
  HEALTHY,
  jobFor,
  startFunction,
  subscriptionsAt,
  type FunctionUnderTest,
  type Processes,
  type Receivers,
} from './run.ts';

/** The default concurrency of a deployment (infra/deployment-settings.ts), spread over some processes. */
export const model = {
  processes: 4,
  deliverConcurrency: 100,
  retryConcurrency: 50,
  healthyDeliveries: 300,
  healthySubscribers: 30,
  /** Milliseconds over which the jobs are sent, evenly and ten at a time. */
  handedOverMs: 20_000,
} as const;

/** The target of a job: a subscription of a receiver, by its number. */
export type Addressee = { name: KindName | typeof HEALTHY; number: number };

type PipelineSettings = {
  attemptTimeoutMs: number;
  /** The number of subscriptions of each receiver. */
  subscriptions: ReadonlyMap<Addressee['name'], number>;
};

const PATIENCE_MS = 30_000;

/** Starts the deliver function behind its two queues and warms it up. Failures are retried by the default policy. */
export const startPipeline = async (
  processes: Processes,
  receivers: Receivers,
  { attemptTimeoutMs, subscriptions }: PipelineSettings,
) => {
  const share = (all: number): number => Math.ceil(all / model.processes);
  const settings = {
    attemptTimeoutMs,
    environments: { first: share(model.deliverConcurrency), retry: share(model.retryConcurrency) },
    subscriptions: [...subscriptions].flatMap(([name, count]) => subscriptionsAt(receivers, name, count)),
    retries: true,
  };
  const functions = await Promise.all(
    Array.from({ length: model.processes }, () => startFunction(processes, settings, receivers)),
  );
  await Promise.all(functions.map(warmUp));

  return {
    /** Sends a job for each target, evenly over time. Resolves when all first attempts have finished. */
    deliver: async (addressees: readonly Addressee[]): Promise<void> => {
      const handed = await handOver(functions, addressees, processes.signal);
      await Promise.all(
        functions.map(async ({ seen }, index) => {
          for (const [name, count] of handed[index] ?? []) {
            const before = name === HEALTHY ? WARM_UP : 0;
            await seen.firstOf(name, before + count, attemptTimeoutMs + PATIENCE_MS);
          }
        }),
      );
    },
    /** The attempts at a receiver, without those of the warm-up. */
    attemptsAt: (name: Addressee['name']) =>
      functions.flatMap(({ seen }) => seen.of(name).slice(name === HEALTHY ? WARM_UP : 0)),
    /** How many messages were not acknowledged. */
    failed: () =>
      functions
        .flatMap(({ invocations }) => invocations)
        .reduce((sum, invocation) => sum + invocation.failed, 0),
    /** The maximum of environments of the delivery queue that were busy at the same time. */
    mostBusy: async () => {
      const memories = await Promise.all(functions.map(({ memory }) => memory()));
      return memories.reduce((sum, { mostBusy }) => sum + mostBusy, 0);
    },
  };
};

/** Deliveries to each process before the measurement, because cold environments are slower. */
const WARM_UP = 3 * BATCH;

const warmUp = async (underTest: FunctionUnderTest): Promise<void> => {
  const numbers = Array.from({ length: WARM_UP }, (_, index) => (index % model.healthySubscribers) + 1);
  underTest.hand(numbers.map((number) => jobFor(`${HEALTHY}-${number}`, HEALTHY)));
  await underTest.seen.firstOf(HEALTHY, WARM_UP, PATIENCE_MS);
};

/** Sends the jobs and returns, for each function, how many it got by the name of the receiver. */
const handOver = async (
  functions: readonly FunctionUnderTest[],
  addressees: readonly Addressee[],
  signal: AbortSignal,
): Promise<Map<Addressee['name'], number>[]> => {
  const handed = functions.map(() => new Map<Addressee['name'], number>());
  const batches = Math.ceil(addressees.length / BATCH);
  const startedAt = performance.now();
  for (let batch = 0; batch < batches; batch += 1) {
    const dueAt = startedAt + (batch * model.handedOverMs) / batches;
    await pause(Math.max(0, dueAt - performance.now()), undefined, { signal });
    const jobs = addressees.slice(batch * BATCH, (batch + 1) * BATCH);
    const index = batch % functions.length;
    const counts = handed[index];
    for (const { name } of jobs) counts?.set(name, (counts.get(name) ?? 0) + 1);
    functions[index]?.hand(jobs.map(({ name, number }) => jobFor(`${name}-${number}`, name)));
  }
  return handed;
};
