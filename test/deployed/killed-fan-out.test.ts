import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { expect, inject, it } from 'vitest';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { toSubscriptionItem } from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { putQueue } from '../support/api-client.ts';
import { aSubscription } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { killWorkersIn } from '../support/processes.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish } from '../support/sqs-messages.ts';

const SUBSCRIBERS = 10_000;

/** Items that DynamoDB accepts in one request ("BatchWriteItem", DynamoDB API reference). */
const BATCH = 25;

/** Makes a page of 1 MB contain about 700 subscriptions. */
const PADDING = 'x'.repeat(1_000);

const { endpoints, documents } = deployment;
const records = dynamoMessageRecords(documents, endpoints.deliveriesTable);

const receiver = await receiverOfTests();

/** Writes the subscriptions directly to the table, because the API would take longer than the rest of the test. */
const subscribeMany = async (queue: string): Promise<void> => {
  const items = Array.from({ length: SUBSCRIBERS }, (_, index) =>
    toSubscriptionItem(
      aSubscription({
        id: randomUUID(),
        queue,
        subscriber: receiver.url(`/${queue}/${index}`),
        options: { post_headers: { 'x-padding': PADDING } },
        createdAt: 1,
      }),
    ),
  );
  for (let from = 0; from < items.length; from += BATCH) {
    const requests = items.slice(from, from + BATCH).map((Item) => ({ PutRequest: { Item } }));
    await documents.batchWrite({ RequestItems: { [endpoints.subscriptionsTable]: requests } });
  }
};

const requestsTo = (queue: string): number =>
  receiver.received().filter(({ path }) => path.startsWith(`/${queue}/`)).length;

it('a message reaches each of 10,000 subscribers once although dispatch is killed during the fan-out', async () => {
  const queue = `many-${randomUUID()}`;
  await putQueue(queue);
  await subscribeMany(queue);

  const key = { queue, messageId: 'm' };
  const record = () => records.find(key);
  await publish({ queue, id: 'm', data: { hello: 'all' } });
  let parts = 0;
  while (parts < 3) {
    const found = await record();
    parts = found?.parts?.length ?? 0;
    if (found !== undefined && found.lastSubscriptionId === undefined)
      throw new Error('dispatch finished before the kill');
    await setTimeout(5);
  }
  expect(await killWorkersIn(inject('folder'), endpoints.functions.dispatch)).toBeGreaterThan(0);

  await eventually(
    'the last request',
    () => Promise.resolve(requestsTo(queue) >= SUBSCRIBERS || undefined),
    800_000,
  );
  expect(await record()).toMatchObject({ matched: SUBSCRIBERS });
  expect(await record()).not.toHaveProperty('until');
  expect(requestsTo(queue)).toBe(SUBSCRIBERS);
  expect(new Set(receiver.received().map(({ path }) => path)).size).toBe(SUBSCRIBERS);
}, 900_000);
