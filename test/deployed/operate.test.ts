import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries/deliveries.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { dynamoRecoveries } from '../../shared/adapters/dynamodb/deliveries/recoveries.ts';
import { inParallel } from '../../shared/adapters/in-parallel.ts';
import { recoveryViewSchema, type RecoveryView } from '../../shared/wire/views/recovery.ts';
import { creation } from '../contract/delivery-cases.ts';
import { aRecord } from '../contract/message-records.contract.ts';
import { answerOf, deleteSubscription, deliveriesOf } from '../support/api-client.ts';
import { aMessage, NO_RETRIES } from '../support/builders.ts';
import { aDelivery, anAttempt, answered } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import { eventually, PATIENCE_MS } from '../support/eventually.ts';
import { killWorkersIn } from '../support/processes.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish, send, taken } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

const { documents, endpoints } = deployment;
const deliveries = dynamoDeliveries(documents, endpoints.deliveriesTable);
const records = dynamoMessageRecords(documents, endpoints.deliveriesTable);

const receiver = await receiverOfTests();

/** A queue with `count` exhausted deliveries as they are stored; making them would take most of the test's time. */
const storedExhausted = async (count: number) => {
  const subscribed = await subscribedQueue(receiver);
  const { queue, subscriptionId } = subscribed;
  const acceptedAt = Date.now();
  const expiresAt = acceptedAt + 60 * 60 * 1000;
  const attempts = [anAttempt({ startedAt: acceptedAt, result: answered(500) })];
  const all = Array.from({ length: count }, (_, index) => `m-${index}`);
  await inParallel(all, 8, async (id) => {
    const message = aMessage({ queue, id, expiresAt });
    const key = { queue, messageId: id };
    await records.accept(aRecord({ key, acceptedAt, expiresAt, body: { kind: 'inline', message } }));
    await deliveries.write(
      creation(
        aDelivery({
          key: { ...key, subscriptionId, bucket: 0 },
          status: 'exhausted',
          acceptedAt,
          attempts,
          expiresAt,
        }),
      ),
    );
  });
  return subscribed;
};

const deliveriesPage = z.object({
  deliveries: z.array(z.unknown()),
  links: z.array(z.object({ href: z.string() })),
});

const undelivered = async (queue: string, status?: string): Promise<number> => {
  const query = status === undefined ? '' : `&status=${status}`;
  let path: string | undefined = `/v2/queues/${queue}/deliveries?limit=100${query}`;
  let count = 0;
  while (path !== undefined) {
    const { deliveries, links } = deliveriesPage.parse(await answerOf('GET', path));
    count += deliveries.length;
    path = links[0]?.href;
  }
  return count;
};

const start = async (queue: string): Promise<RecoveryView> => {
  const since = new Date(Date.now() - 60 * 60 * 1000).toISOString();
  const until = new Date().toISOString();
  return recoveryViewSchema.parse(await answerOf('POST', `/v2/queues/${queue}/recoveries`, { since, until }));
};

const ended = (queue: string, id: string): Promise<RecoveryView> =>
  eventually(`the end of recovery ${id}`, async () => {
    const view = recoveryViewSchema.parse(await answerOf('GET', `/v2/queues/${queue}/recoveries/${id}`));
    return view.state === 'running' ? undefined : view;
  });

// Concurrent, because these tests mostly wait. SQS also redelivers other operations that the kill interrupts.
describe.concurrent('a recovery on the deployed system', () => {
  it('continues after operate is killed, and makes each delivery once', async () => {
    // More than one page of the recovery.
    const count = 51;
    const { queue, path } = await storedExhausted(count);
    const { id } = await start(queue);

    const recoveries = dynamoRecoveries(documents, endpoints.deliveriesTable);
    const deadline = Date.now() + PATIENCE_MS;
    while (((await recoveries.find(queue, id))?.batch.length ?? 0) === 0) {
      if (Date.now() > deadline) throw new Error('the recovery did not start');
      await pause(25);
    }
    expect(await killWorkersIn(inject('folder'), endpoints.functions.operate)).toBeGreaterThan(0);
    expect(await recoveries.find(queue, id)).toMatchObject({ state: 'running' });

    expect(await ended(queue, id)).toMatchObject({
      state: 'completed',
      found: count,
      reopened: count,
      skipped: {},
    });
    await eventually('every delivery', async () => ((await undelivered(queue)) === 0 ? true : undefined));
    expect(await answerOf('GET', `/v2/queues/${queue}/recoveries/${id}/outcomes`)).toMatchObject({
      known: true,
      subscriptions: [{ total: count, delivered: count, failed: 0, open: 0 }],
      links: [],
    });
    const ids = receiver.received(path).map(({ headers }) => headers['webhook-id']);
    expect(ids).toHaveLength(count);
    expect(new Set(ids).size).toBe(count);
  });
});

describe.concurrent('a subscription that is deleted', () => {
  it('has its pending deliveries cancelled long before they are due', async () => {
    const policy = { ...NO_RETRIES, minimum_delay_retries: 1, minimum_delay: 900, maximum_delay: 900 };
    const answers = [{ status: 503 }] as const;
    const { queue, path, subscriptionId } = await subscribedQueue(receiver, { policy, answers });
    await publish({ queue, id: 'm', data: 1 });
    await eventually('its first failure', async () =>
      (await undelivered(queue, 'retrying')) === 1 ? true : undefined,
    );
    await deleteSubscription(queue, subscriptionId);
    await eventually('its cancellation', async () =>
      (await undelivered(queue, 'cancelled')) === 1 ? true : undefined,
    );
    expect(await deliveriesOf(queue, 'm')).toMatchObject([
      { status: 'cancelled', reason: 'subscription_deleted' },
    ]);
    expect(receiver.received(path)).toHaveLength(1);
  });
});

describe.concurrent('an operation of an unknown kind', () => {
  it('is dead-lettered with its reason', async () => {
    const body = JSON.stringify({ v: 1, kind: 'demolition', queue: randomUUID() });
    await send(endpoints.operationQueueUrl, body);
    const deadLetter = await taken(endpoints.operationDeadLetterUrl, ({ Body }) => Body === body);
    expect(deadLetter.MessageAttributes?.['reason']?.StringValue).toBe('unknown_kind');
  });
});
