import * as z from 'zod';
import { eventually } from '../support/eventually.ts';

/** Ids of existing resources, by the names of path parameters. */
export type KnownResources = { queue: string; subscription: string; message: string; recovery: string };

const PAST_MS = 60 * 60 * 1000;

/** Creates a queue, a subscription, a message with a delivery, and a recovery, so that requests can refer to them. */
export const createKnownResources = async (api: string, subscriber: string): Promise<KnownResources> => {
  const queue = 'known-orders';
  const at = `${api}/v2/queues/${queue}`;
  const post = async <T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T> => {
    const response = await fetch(`${at}${path}`, { method: 'POST', body: JSON.stringify(body) });
    return schema.parse(await response.json());
  };
  const { subscription_id: subscription } = await post(
    '/subscriptions',
    { subscriber },
    z.object({ subscription_id: z.string() }),
  );
  const posted = { messages: [{ id: 'known-order', type: 'order.created', body: { total: 1 } }] };
  const { ids } = await post('/messages', posted, z.object({ ids: z.tuple([z.string()]) }));
  const [message] = ids;
  await eventually('the known delivery', async () => {
    const { status } = await fetch(`${at}/messages/${message}/deliveries/${subscription}`);
    return status === 200 ? true : undefined;
  });
  const now = Date.now();
  const window = { since: new Date(now - PAST_MS), until: new Date(now) };
  const { id: recovery } = await post('/recoveries', window, z.object({ id: z.string() }));
  return { queue, subscription, message, recovery };
};
