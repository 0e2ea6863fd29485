import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { callApi, putQueue, subscribe } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { sendTogether } from '../support/sqs-messages.ts';

const WINDOW_MS = 10_000;
const MESSAGES = 120;

const listing = z.object({ deliveries: z.array(z.unknown()) });

let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
});

afterAll(async () => {
  await receiver.close();
});

/** The maximum of requests within any ten seconds. */
const mostInAWindow = (times: readonly number[]): number =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + WINDOW_MS).length));

/** Makes the first attempt of every tenth message fail. */
const failSome = (path: string): void => {
  const seen = new Set<string>();
  receiver.script(path, ({ headers }) => {
    const id = String(headers['webhook-id']);
    if (!id.endsWith('0') || seen.has(id)) return { status: 200 };
    seen.add(id);
    return { status: 503 };
  });
};

describe('a rate limit on the deployed system, with ten concurrent function instances', () => {
  it('holds in any ten seconds while a backlog with retries drains, and does not delay other subscribers', async () => {
    const queue = `limited-${randomUUID()}`;
    const [limited, free] = [`/${queue}/limited`, `/${queue}/free`];
    await putQueue(queue, { retries_with_no_delay: 1 });
    await subscribe(queue, receiver.url(limited), { max_per_second: 10 });
    await subscribe(queue, receiver.url(free));
    failSome(limited);
    const bodies = Array.from({ length: MESSAGES }, (_, index) =>
      JSON.stringify({ queue, id: `m-${index}`, data: index }),
    );
    for (let start = 0; start < MESSAGES; start += 10)
      await sendTogether(deployment.endpoints.ingressQueueUrl, bodies.slice(start, start + 10));

    const requests = MESSAGES + MESSAGES / 10;
    const times = (await receiver.waitFor(limited, requests, 50_000)).map(({ arrivedAt }) => arrivedAt);
    const others = receiver.received(free).map(({ arrivedAt }) => arrivedAt);

    expect(mostInAWindow(times)).toBeLessThanOrEqual(105);
    expect(others).toHaveLength(MESSAGES);
    expect(Math.max(...others)).toBeLessThan(Math.max(...times) - 3_000);
  }, 90_000);

  it('applies a raised limit to waiting deliveries within seconds', async () => {
    const queue = `raised-${randomUUID()}`;
    const path = `/${queue}/slow`;
    await putQueue(queue);
    const id = await subscribe(queue, receiver.url(path), { max_per_second: 0.02 });
    const bodies = Array.from({ length: 20 }, (_, index) =>
      JSON.stringify({ queue, id: `m-${index}`, data: index }),
    );
    for (let start = 0; start < bodies.length; start += 10)
      await sendTogether(deployment.endpoints.ingressQueueUrl, bodies.slice(start, start + 10));
    await eventually('nineteen waiting deliveries', async () => {
      const answer = await callApi('GET', `/v2/queues/${queue}/deliveries?status=pending&limit=100`);
      return listing.parse(await answer.json()).deliveries.length === bodies.length - 1 ? true : undefined;
    });
    const options = { max_per_second: 5 };
    const changed = await callApi('PATCH', `/v2/queues/${queue}/subscriptions/${id}`, { options });

    expect(changed.status).toBe(200);
    expect(await receiver.waitFor(path, bodies.length, 30_000)).toHaveLength(bodies.length);
  }, 60_000);
});
