import { queueMember } from '../../../shared/domain/subscription/queue-metadata.ts';
import type { Amount } from '../../../shared/domain/subscription/room.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import type { ApiSettings } from '../dependencies.ts';
import { RefusedRequest } from '../errors.ts';

export type RoomContext = {
  registry: Pick<Registry, 'takeRoom' | 'findQueue'>;
  settings: Pick<ApiSettings, 'queueLimit'>;
};

/** Reserves room for more subscriptions in a queue. @throws RefusedRequest where the queue is full */
export async function takeRoom(context: RoomContext, queue: string, more: Amount): Promise<void> {
  const limit = await limitOf(context, queue);
  if (await context.registry.takeRoom(queue, more, limit)) return;
  const { subscriptions, bytes } = limit;
  throw new RefusedRequest(
    'conflict',
    `the queue is full: it can have at most ${subscriptions} subscriptions, and ${bytes} bytes of URLs and options`,
  );
}

async function limitOf({ registry, settings: { queueLimit } }: RoomContext, name: string): Promise<Amount> {
  const queue = await registry.findQueue(name);
  const most = queueMember('_max_subscriptions', queue?.metadata) ?? Infinity;
  return { ...queueLimit, subscriptions: Math.min(queueLimit.subscriptions, most) };
}
