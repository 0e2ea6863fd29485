import type { Amount } from '../../../shared/domain/subscription/room.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { RefusedRequest } from '../errors.ts';

export type RoomContext = {
  registry: Pick<Registry, 'takeRoom'>;
  /** Limits the subscriptions of a queue, because dispatch reads all of them for each message. */
  settings: { queueLimit: Amount };
};

/** Reserves room for more subscriptions in a queue. @throws RefusedRequest where the queue is full */
export async function takeRoom(
  { registry, settings: { queueLimit } }: RoomContext,
  queue: string,
  more: Amount,
): Promise<void> {
  if (await registry.takeRoom(queue, more, queueLimit)) return;
  const { subscriptions, bytes } = queueLimit;
  throw new RefusedRequest(
    'conflict',
    `the queue is full: it can have at most ${subscriptions} subscriptions, and ${bytes} bytes of URLs and options`,
  );
}
