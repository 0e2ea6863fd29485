import { setTimeout as pause } from 'node:timers/promises';

import type { KindName } from './kinds/all-kinds.ts';
import type { AttemptSeen } from './messages.ts';
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

/** As many environments as one deployment has by default (infra/deployment-settings.ts), spread over some processes. */
export const model = {
  processes: 4,
  deliverConcurrency: 100,
  retryConcurrency: 50,
  healthyDeliveries: 300,
  healthySubscribers: 30,
  /** Milliseconds within which all jobs come, ten at a time and evenly. */
  handedOverMs: 20_000,
} as const;

/** Whom a job is for: the subscription of that number at a receiver. */
export type Addressee = { name: KindName | typeof HEALTHY; number: number };

export type ModelledPipeline = {
  /** Sends a job to each, evenly over time. Resolves when all their first attempts have ended. */
  deliver: (addressees: readonly Addressee[]) => Promise<void>;
  /** What was seen of a receiver since. */
  attemptsAt: (name: Addressee['name']) => AttemptSeen[];
  /** Messages that would come again. */
  failed: () => number;
  /** Environments of the delivery queue at work at the same time, at most. */
  mostBusy: () => Promise<number>;
};

export type PipelineSettings = {
  attemptTimeoutMs: number;
  /** How many subscriptions each receiver has. */
  subscriptions: ReadonlyMap<Addressee['name'], number>;
};

const PATIENCE_MS = 30_000;

/** The deliver function behind its two queues, warmed up; failures are retried by the default policy. */
export const startPipeline = async (
  processes: Processes,
  receivers: Receivers,
  { attemptTimeoutMs, subscriptions }: PipelineSettings,
): Promise<ModelledPipeline> => {
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
    deliver: async (addressees) => {
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
    attemptsAt: (name) =>
      functions.flatMap(({ seen }) => seen.of(name).slice(name === HEALTHY ? WARM_UP : 0)),
    failed: () =>
      functions
        .flatMap(({ invocations }) => invocations)
        .reduce((sum, invocation) => sum + invocation.failed, 0),
    mostBusy: async () => {
      const memories = await Promise.all(functions.map(({ memory }) => memory()));
      return memories.reduce((sum, { mostBusy }) => sum + mostBusy, 0);
    },
  };
};

/** Deliveries to each process before it counts: environments that have never worked are slower, which is another matter. */
const WARM_UP = 3 * BATCH;

const warmUp = async (underTest: FunctionUnderTest): Promise<void> => {
  const numbers = Array.from({ length: WARM_UP }, (_, index) => (index % model.healthySubscribers) + 1);
  underTest.hand(numbers.map((number) => jobFor(`${HEALTHY}-${number}`, HEALTHY)));
  await underTest.seen.firstOf(HEALTHY, WARM_UP, PATIENCE_MS);
};

/** Answers with what each function was handed: how many jobs by the name of their receiver. */
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
