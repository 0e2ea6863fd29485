import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { functionSettings } from '../../shared/config/settings.ts';
import { modelledSqs } from '../../test/support/modelled-sqs.ts';
import { ingressBody, MEGABYTES } from '../fan-out/dispatch.ts';
import type { ListSize } from '../fan-out/lists.ts';
import { startStub } from '../fan-out/stub-tables.ts';
import type { Length } from '../harness/command.ts';
import { median, type Quantiles, quantilesOf } from '../harness/figures.ts';
import { startFunction } from '../harness/function.ts';
import { environmentAt } from '../harness/stub-aws.ts';

/** At 0.29 of a processor each, these leave the rest of two processors to the stub and the queue. */
const INSTANCES = 4;

/** Messages in a batch of each instance. */
const OCCUPYING = 10 * INSTANCES;

const QUIET = Array.from({ length: 10 }, (_, index) => `quiet-${index}`);
const NOISY = 'noisy';

/** One message a second to each quiet queue. */
const QUIET_EVERY_MS = 1_000 / QUIET.length;

const WARM_UP_MS = 5_000;

/** Bytes of a subscription's item as the API counts them, without `post_data`. */
const ITEM_BYTES = 750;

/** `atOnce`: messages to the list that are under way. */
export type Crowd = { list: string; size: ListSize; atOnce: number };

/** A long list, and the longest ones that the default settings allow. */
export function crowds(length: Length): readonly Crowd[] {
  const { maxSubscriptionsPerQueue, maxSubscriptionMegabytesPerQueue } = functionSettings;
  const bytes = maxSubscriptionMegabytesPerQueue.default * 2 ** 20;
  const atLimit = (postDataBytes: number): ListSize => ({
    postDataBytes,
    subscriptions: Math.min(
      maxSubscriptionsPerQueue.default,
      Math.floor(bytes / (ITEM_BYTES + postDataBytes)),
    ),
  });
  const few = { list: '10,000 subscriptions', size: { subscriptions: 10_000 }, atOnce: 1 };
  const lists = {
    'at the limit, 64 KB of post_data each': atLimit(2 ** 16),
    'at the limit, no post_data': atLimit(0),
  };
  const most = Object.entries(lists).flatMap(([list, size]) =>
    [1, OCCUPYING].map((atOnce) => ({ list, size, atOnce })),
  );
  return length === 'full' ? [few, ...most] : [few];
}

/** `dispatched`: messages to the long list; `seconds`: the median of one, from publish to the last job. */
export type BesideList = {
  list: string;
  subscriptions: number;
  atOnce: number;
  dispatched: number;
  seconds: number;
  peakMegabytes: number;
  crashes: number;
  /** Of the quiet queues' messages in ms from publish to job, before the messages to the list and beside them. */
  alone: Quantiles;
  beside: Quantiles;
  'p95 by alone': number;
  'p99 by alone': number;
};

type Ingress = { queue: string; id: string };

/**
 * Messages of quiet queues beside messages to a long list, with dispatch as deployed: its bundle with the memory and processor of
 * its size, fed by a fair queue. AWS is a stub that answers at once.
 */
export async function besideList(
  bundle: string,
  seconds: number,
  { list, size, atOnce }: Crowd,
): Promise<BesideList> {
  await using stack = new AsyncDisposableStack();
  const quiet = Object.fromEntries(QUIET.map((queue) => [queue, { subscriptions: 1 }]));
  const stub = await startStub(stack, { ...quiet, [NOISY]: size });
  const start = () =>
    startFunction(stack, { bundle, env: environmentAt(stub.endpoint), megabytes: MEGABYTES });
  const instances = Array.from({ length: INSTANCES }, start);
  // Excludes the cold starts.
  await Promise.all(instances.map((instance) => instance.invoke([])));
  let [crashes, peakBytes] = [0, 0];
  const acknowledged = new Map<string, () => void>();
  const ingress = modelledSqs<Ingress>({
    name: 'ingress',
    timeline: { now: () => performance.now(), at: callAt },
    visibilityMs: () => 35_000,
    scaling: { first: INSTANCES, most: INSTANCES },
    groupOf: ({ queue }) => queue,
    consume: async (batch, index) => {
      const run = await instances[index]?.invoke(
        batch.map(({ value }) => ingressBody(value.queue, value.id)),
      );
      if (run === undefined) {
        crashes += 1;
        instances[index] = start();
      } else peakBytes = Math.max(peakBytes, run.peakBytes);
      for (const [place, { value, acknowledge }] of batch.entries()) {
        acknowledge();
        // Unfinished messages return at once.
        if (run === undefined || run.failed.includes(place)) ingress.send(value);
        else acknowledged.get(value.id)?.();
      }
    },
  });
  const publish = async (queue: string): Promise<{ id: string; waitMs: () => number }> => {
    const [id, at] = [randomUUID(), performance.now()];
    const over = new Promise<void>((resolve) => acknowledged.set(id, resolve));
    ingress.send({ queue, id });
    await over;
    acknowledged.delete(id);
    return { id, waitMs: () => stub.sentAt(id) - at };
  };
  const publishQuietly = async (until: number): Promise<number[]> => {
    const waits: Promise<number>[] = [];
    for (let at = performance.now(); at < until; at += QUIET_EVERY_MS) {
      await setTimeout(Math.max(0, at - performance.now()));
      waits.push(publish(QUIET[waits.length % QUIET.length] ?? '').then(({ waitMs }) => waitMs()));
    }
    return Promise.all(waits);
  };
  // Each instance compiles what it uses.
  await Promise.all([publishQuietly(performance.now() + WARM_UP_MS), publish(NOISY)]);
  const alone = quantilesOf(await publishQuietly(performance.now() + (seconds / 2) * 1_000));
  const until = performance.now() + seconds * 1_000;
  const noise: number[] = [];
  const noisy = Array.from({ length: atOnce }, async () => {
    while (performance.now() < until) {
      const { id, waitMs } = await publish(NOISY);
      if (stub.reached(id) !== size.subscriptions) throw new Error('A message did not reach the whole list.');
      noise.push(waitMs() / 1_000);
    }
  });
  const beside = quantilesOf(await publishQuietly(until));
  await Promise.all(noisy);
  return {
    list,
    subscriptions: size.subscriptions,
    atOnce,
    dispatched: noise.length,
    seconds: median(noise),
    peakMegabytes: peakBytes / 2 ** 20,
    crashes,
    alone,
    beside,
    'p95 by alone': beside.p95 / alone.p95,
    'p99 by alone': beside.p99 / alone.p99,
  };
}

function callAt(time: number, callback: () => void): void {
  void setTimeout(Math.max(0, time - performance.now())).then(callback);
}
