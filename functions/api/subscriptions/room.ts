import type { Amount } from '../../../shared/domain/subscription/room.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { RefusedRequest } from '../errors.ts';

export type RoomContext = {
  registry: Pick<Registry, 'takeRoom'>;
  /** How much a queue's subscriptions may be: each of its messages has dispatch read them all. */
  settings: { mostOfQueue: Amount };
};

/** @throws RefusedRequest where the queue has no room for it */
export async function takeRoom(
  { registry, settings: { mostOfQueue } }: RoomContext,
  queue: string,
  more: Amount,
): Promise<void> {
  if (await registry.takeRoom(queue, more, mostOfQueue)) return;
  const { subscriptions, bytes } = mostOfQueue;
  throw new RefusedRequest(
    'conflict',
    `the queue is full: it takes at most ${subscriptions} subscriptions, and ${bytes} bytes of URLs and options`,
  );
}
