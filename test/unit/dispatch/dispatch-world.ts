import { expect, vi } from 'vitest';
import type { FirstJob } from '../../../shared/domain/delivery/job.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld } from '../../support/in-memory/pipeline-world.ts';

const KEY = { queue: 'orders', messageId: 'message-1' };

/** A world with one queue, to follow `message-1` from its acceptance to its subscriptions. */
export const dispatchWorld = async () => {
  const world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
  const { deliveryQueue } = world.dispatchContext.ports;
  const publish = (message: Partial<Message> = {}, delaySeconds?: number): Promise<void> =>
    world.dispatch({
      ok: true,
      message: aMessage(message),
      ...(delaySeconds === undefined ? {} : { delaySeconds }),
    });

  return {
    ...world,
    key: KEY,
    urlOf: (id: string) => `https://subscriber.test/${id}`,
    subscribe: (id: string, more: Parameters<typeof aSubscription>[0] = {}): Promise<unknown> =>
      addSubscription(
        world.subscriptions,
        aSubscription({ id, subscriber: `https://subscriber.test/${id}`, ...more }),
      ),
    publish,
    /** Publishes and runs until nothing is pending. */
    deliver: async (message: Partial<Message> = {}): Promise<void> => {
      await publish(message);
      await world.clock.run();
    },
    /** Dispatches a copy that crashes after its record is written, and before its jobs are sent. */
    crashBeforeSending: async (accept: () => Promise<void> = publish): Promise<void> => {
      vi.spyOn(deliveryQueue, 'send').mockRejectedValueOnce(new Error('crash'));
      await expect(accept()).rejects.toThrow('crash');
    },
    /** From now on, jobs are collected and not delivered. */
    collectJobs: (): FirstJob[] => {
      const sent: FirstJob[] = [];
      deliveryQueue.send = (jobs) => {
        sent.push(...jobs);
        return Promise.resolve();
      };
      return sent;
    },
    record: async (): Promise<MessageRecord> => {
      const found = await world.messageRecords.find(KEY);
      if (found === undefined) throw new Error('the message has no record');
      return found;
    },
    /** Ids of the subscriptions that were called. */
    called: (): string[] =>
      world.subscriber.seen.map(({ request }) => request.url.split('/').at(-1) ?? '').sort(),
    bodies: (): string[] => world.subscriber.seen.map(({ request }) => request.body),
  };
};

export type DispatchWorld = Awaited<ReturnType<typeof dispatchWorld>>;
