import { randomUUID } from 'node:crypto';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { putQueue, subscribe } from './api-client.ts';
import type { Receiver, Script } from './receiver.ts';

type Setup = {
  policy?: PartialRetryPolicy;
  /** Of the subscription. */
  options?: Record<string, unknown>;
  /** Of its subscriber; by default 200. */
  answers?: Script;
};

export type SubscribedQueue = { queue: string; path: string; subscriptionId: string };

/** A new queue of the deployed system, with one subscription to a path of the receiver. */
export const subscribedQueue = async (
  receiver: Receiver,
  { policy, options, answers }: Setup = {},
): Promise<SubscribedQueue> => {
  const queue = `queue-${randomUUID()}`;
  const path = `/${queue}`;
  if (answers !== undefined) receiver.script(path, answers);
  await putQueue(queue, policy);
  return { queue, path, subscriptionId: await subscribe(queue, receiver.url(path), options) };
};
