import type { ChunkJob } from '../../../shared/domain/delivery/job.ts';
import type { Chunk } from '../../../shared/domain/delivery/chunk.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import type { Status } from '../../../shared/domain/delivery/vocabulary.ts';
import type { RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { deliver } from '../../../functions/deliver/deliver.ts';
import type { SqsReceipt } from '../../../functions/deliver/context.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../builders.ts';
import { addSubscription } from '../add-subscription.ts';
import { pipelineWorld } from './pipeline-world.ts';
import { type ScriptedReply, status } from './scripted-subscriber.ts';
import { deliveryKeyIn } from '../../../shared/domain/delivery/fan-out.ts';

type Call = (...given: never[]) => unknown;

/** A port of a crashing function: after the crash no call has an effect, and pending calls never settle. */
const crashingPort = <Port extends object>(port: Port, hasCrashed: () => boolean): Port =>
  new Proxy(port, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...given: unknown[]): unknown => {
        if (hasCrashed()) return neverSettles;
        const result: unknown = Reflect.apply(method as Call, target, given);
        return result instanceof Promise
          ? result.then((value: unknown) => (hasCrashed() ? neverSettles : value))
          : result;
      };
    },
  });

const neverSettles = new Promise<never>(() => undefined);

/** A write that was observed, named by its record or transition, and when. */
export type WriteSeen = { at: number; write: string };

/**
 * A world with `count` subscribers of a queue, whose first attempts are made in chunks. Its times are relative to
 * its start.
 */
export const chunkedWorld = async (
  count: number,
  { perJob = 10, policy = {} }: { perJob?: number; policy?: Partial<RetryPolicy> } = {},
) => {
  const world = pipelineWorld();
  const startedAt = world.clock.now();
  world.settings.firstAttemptsPerJob = perJob;
  const ids = Array.from({ length: count }, (_, index) => `s-${index + 1}`);
  const urlOf = (id: string): string => `https://${id}.test/hook`;
  const subscribe = (id: string, more: Partial<Subscription> = {}): Promise<unknown> =>
    addSubscription(
      world.subscriptions,
      aSubscription({ id, subscriber: urlOf(id), options: { _retry_policy: aBarePolicy(policy) }, ...more }),
    );
  await world.subscriptions.putQueue(aQueue());
  for (const id of ids) await subscribe(id);

  const writes: WriteSeen[] = [];
  const recordWrite = (write: string): void => void writes.push({ at: world.clock.now() - startedAt, write });
  const { ports } = world.deliverContext;
  ports.chunks = {
    ...world.chunks,
    write: (transition) => {
      recordWrite(`chunk ${transition.expect.kind}`);
      return world.chunks.write(transition);
    },
  };
  ports.deliveries = {
    ...world.deliveries,
    write: (transition) => {
      recordWrite(`${transition.name} ${transition.key.subscriptionId}`);
      return world.deliveries.write(transition);
    },
  };

  const message = { queue: 'orders', messageId: 'message-1' };
  const publish = (more: Partial<Message> = {}, delaySeconds?: number): Promise<void> =>
    world.dispatch({
      ok: true,
      message: aMessage(more),
      ...(delaySeconds === undefined ? {} : { delaySeconds }),
    });
  const answer = (id: string, ...replies: [ScriptedReply, ...ScriptedReply[]]): void => {
    world.subscriber.script(urlOf(id), replies);
  };
  const requestsOf = (id: string): number =>
    world.subscriber.seen.filter(({ request }) => request.url === urlOf(id)).length;
  return {
    ...world,
    startedAt,
    ids,
    urlOf,
    subscribe,
    /** The writes of deliver, in order. */
    writes: () => writes.map(({ write }) => write),
    writesSeen: writes,
    publish,
    /** Publishes and runs until nothing is pending. */
    deliver: async (more: Partial<Message> = {}): Promise<void> => {
      await publish(more);
      await world.clock.run();
    },
    /** The replies of a subscriber: in order, then the last one repeatedly. */
    answer,
    /** Every subscriber succeeds after so many milliseconds, plus `step` for each one before it. */
    answerAll: (takesMs: number, step = 0): void => {
      for (const [index, id] of ids.entries()) answer(id, status(200, { takesMs: takesMs + step * index }));
    },
    statuses: (): Promise<Status[]> => Promise.all(ids.map(async (id) => (await world.delivery(id)).status)),
    /** How often each attempt of a subscriber's delivery was lost. */
    lostOf: async (id: string): Promise<number[]> =>
      (await world.delivery(id)).attempts.map(({ lost = 0 }) => lost),
    /** Runs until this many milliseconds after the start. */
    until: (ms: number): Promise<void> => world.clock.run(startedAt + ms),
    requestsOf,
    /** How often each subscriber was called. */
    requests: (): number[] => ids.map(requestsOf),
    chunk: (chunk = 0): Promise<Chunk | undefined> => world.chunks.find({ ...message, bucket: 0, chunk }),
    /** Subscriptions whose deliveries have separate records. */
    separateMembers: (): string[] =>
      [...world.deliveries.records.values()].map(({ key }) => key.subscriptionId).sort(),
    job: (subscriptionIds: readonly string[] = ids): ChunkJob => ({
      kind: 'chunk',
      key: { ...message, bucket: 0, chunk: 0 },
      subscriptionIds,
      acceptedAt: startedAt,
      body: { kind: 'inline', message: aMessage() },
    }),
    received: (owner: string, receiveCount = 1, remainingMs = 30_000): SqsReceipt => ({
      id: `sqs-${owner}`,
      text: '{}',
      owner,
      receiveCount,
      remainingMs: () => remainingMs,
    }),
    deliverCopy: (job: ChunkJob, received: SqsReceipt): Promise<void> =>
      deliver(world.deliverContext, job, received),
    /** The same in a function that crashes this many milliseconds after the start. */
    deliverDying: (job: ChunkJob, received: SqsReceipt, crashesAt: number): void => {
      const isDead = (): boolean => world.clock.now() >= startedAt + crashesAt;
      const { chunks, deliveries, subscriber, messageRecords, subscriptions, clock } = ports;
      const used = { chunks, deliveries, subscriber, messageRecords, subscriptions, clock };
      const crashing = Object.fromEntries(
        Object.entries(used).map(([name, port]) => [name, crashingPort(port, isDead)]),
      ) as typeof used;
      void deliver({ ...world.deliverContext, ports: { ...ports, ...crashing } }, job, received);
    },
    keyOf: async (subscriptionId: string) => {
      const record = await world.messageRecords.find(message);
      if (record === undefined) throw new Error('the message is not on record');
      return deliveryKeyIn(record, subscriptionId);
    },
  };
};

export type ChunkedWorld = Awaited<ReturnType<typeof chunkedWorld>>;
