import * as z from 'zod';
import { ApiRefusal } from './api-refusal.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import { listDeliveries } from './deliveries.ts';
import { NoSuchQueue } from './missing-queue.ts';
import { listSubscriptions } from './subscriptions.ts';

/** Counts of a queue as text. Empty: unknown, because the caller may not read it or the deployment does not count. */
export type QueueCounts = { subscriptions: string; undelivered: string; messages: string };

/** One page: further ones are not counted. */
const MOST_COUNTED = 100;

/** `undelivered`: open and failed deliveries. `messages`: of the last 24 hours. */
export async function countsOfQueue(api: ApiClient, queue: string): Promise<QueueCounts> {
  const [subscriptions, undelivered, messages] = await Promise.all([
    counted(listSubscriptions(api, queue, MOST_COUNTED)),
    counted(listDeliveries(api, queue, {}, { most: MOST_COUNTED })),
    messagesOfToday(api, queue),
  ]);
  return { subscriptions, undelivered, messages };
}

async function counted(items: AsyncIterable<unknown>): Promise<string> {
  let count = 0;
  const isRead = await readable(async () => {
    for await (const item of items) if (item !== undefined) count += 1;
    return true;
  });
  if (isRead === undefined) return '';
  return count === MOST_COUNTED ? `${count}+` : String(count);
}

const statisticsSchema = z.object({ enabled: z.boolean(), total: z.object({ messages: z.number() }) });

async function messagesOfToday(api: ApiClient, queue: string): Promise<string> {
  const path = apiPath`/v2/queues/${queue}/statistics`;
  const answer = await readable(() => api.call({ method: 'GET', path }, statisticsSchema));
  return answer?.enabled === true ? String(answer.total.messages) : '';
}

/** Undefined if the API refuses: one missing count must not cost the whole list. */
async function readable<Answer>(read: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ApiRefusal || error instanceof NoSuchQueue) return undefined;
    throw error;
  }
}
