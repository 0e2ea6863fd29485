import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { booksViewSchema } from '../../shared/wire/views/books.ts';
import { callApi, putQueue, subscribe } from '../support/api-client.ts';
import { aBarePolicy } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { killWorkersIn } from '../support/processes.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { sendTogether } from '../support/sqs-messages.ts';

const MESSAGES = 10;
const SUBSCRIBERS = 20;
const DELIVERIES = MESSAGES * SUBSCRIBERS;

/** What docs/design.md promises ("After a crash"). */
const WITHIN_MS = 60_000;

let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
});

afterAll(() => receiver.close());

/** Messages to subscribers of which each third fails once, all of them slow enough to be met in the middle of a request. */
const publishAll = async (): Promise<string> => {
  const queue = `killed-${randomUUID()}`;
  await putQueue(queue, aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 1, maximum_delay: 1 }));
  for (let index = 0; index < SUBSCRIBERS; index += 1) {
    const path = `/${queue}/${index}`;
    receiver.script(path, [{ status: index % 3 === 0 ? 503 : 200, delayMs: 500 }, { delayMs: 500 }]);
    await subscribe(queue, receiver.url(path));
  }
  const bodies = Array.from({ length: MESSAGES }, (_, id) =>
    JSON.stringify({ queue, id: `m-${id}`, data: id }),
  );
  await sendTogether(deployment.endpoints.ingressQueueUrl, bodies);
  return queue;
};

/** Undefined: the API has not recovered yet. */
const deliveredOf = async (queue: string, since: string): Promise<number | undefined> => {
  const response = await callApi('GET', `/v2/queues/${queue}/books?since=${since}`);
  if (!response.ok) return undefined;
  return booksViewSchema.parse(await response.json()).books.delivered;
};

describe('after every function process was killed', () => {
  // Before any request, among the first, and among the last and the retries.
  it.each([0, DELIVERIES / 10, DELIVERIES])(
    'while messages were under way, with %d requests made, all of them are delivered within a minute',
    async (requests) => {
      const since = new Date().toISOString();
      const queue = await publishAll();
      const made = () => receiver.received().filter(({ path }) => path.startsWith(`/${queue}/`)).length;
      await eventually('the requests', () => Promise.resolve(made() >= requests ? true : undefined));
      expect(await killWorkersIn(inject('folder'))).toBeGreaterThan(0);

      const all = async () => ((await deliveredOf(queue, since)) === DELIVERIES ? true : undefined);
      await eventually('the last delivery', all, WITHIN_MS);
    },
    3 * WITHIN_MS,
  );
});
