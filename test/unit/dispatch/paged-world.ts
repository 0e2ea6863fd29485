import type { FirstJob } from '../../../shared/domain/delivery/job.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';

const KEY = { queue: 'orders', messageId: 'message-1' };
export const PUBLISHED = { ok: true, message: aMessage() } as const;

export const idAt = (index: number): string => `s-${String(index).padStart(5, '0')}`;

/** A queue with `count` subscriptions, ten per page. Sent jobs are collected in `sent` and not delivered. */
export const aPagedWorld = async (
  count: number,
  about: (index: number) => Partial<Subscription> = () => ({}),
) => {
  const world = pipelineWorld();
  world.settings.pageSize = 10;
  await world.subscriptions.putQueue(aQueue());
  const subscribe = (index: number, more: Partial<Subscription> = {}) =>
    world.subscriptions.addSubscription(
      aSubscription({ id: idAt(index), subscriber: `https://s.test/${index}`, ...more }),
    );
  for (let index = 0; index < count; index += 1) await subscribe(index, about(index));
  const sent: FirstJob[] = [];
  world.dispatchContext.ports.deliveryQueue.send = (jobs) => {
    sent.push(...jobs);
    return Promise.resolve();
  };
  const record = async (): Promise<MessageRecord> => {
    const found = await world.messageRecords.find(KEY);
    if (found === undefined) throw new Error('the message has no record');
    return found;
  };
  return { ...world, subscribe, sent, record };
};

const named = (job: FirstJob): readonly string[] =>
  job.kind === 'chunk' ? job.subscriptionIds : [job.key.subscriptionId];

export const allNamed = (jobs: readonly FirstJob[]): string[] => jobs.flatMap(named).sort();

/** The place of each subscription. Throws if one was sent to two places. */
export const placesIn = (jobs: readonly FirstJob[]): Map<string, string> => {
  const places = new Map<string, string>();
  for (const job of jobs) {
    const place = job.kind === 'chunk' ? `${job.key.bucket}/${job.key.chunk}` : `${job.key.bucket}`;
    for (const id of named(job)) {
      if ((places.get(id) ?? place) !== place) throw new Error(`${id} was sent to two places`);
      places.set(id, place);
    }
  }
  return places;
};

export const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => idAt(index));

/** Makes the `nth` following call to a port crash dispatch, before or after the call. */
export const crashAt = (world: PipelineWorld, nth: number, moment: 'before' | 'after'): void => {
  let calls = 0;
  const { messageRecords, deliveryQueue } = world.dispatchContext.ports;
  const crashing =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      calls += 1;
      if (calls === nth && moment === 'before') throw new Error('crashed');
      const result = await call(...args);
      if (calls === nth && moment === 'after') throw new Error('crashed');
      return result;
    };
  messageRecords.addPart = crashing(messageRecords.addPart.bind(messageRecords));
  deliveryQueue.send = crashing(deliveryQueue.send.bind(deliveryQueue));
};
