import { answered } from '../../support/delivery-builders.ts';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { messageIdOf } from '../../../shared/domain/message/message.ts';
import { deliveryView, deliveryViewSchema } from '../../../shared/wire/views/delivery.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';

const PATH = '/v2/queues/orders/messages';

describe('GET /v2/queues/{queue}/messages/{id}/deliveries', () => {
  const record = (messageId: string, buckets = 1) => ({
    key: { queue: 'orders', messageId },
    acceptedAt: NOON,
    listedAt: NOON,
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets,
    expiresAt: NOON + 1,
  });

  const delivery = (subscriptionId: string, bucket: number): Delivery => ({
    key: { queue: 'orders', messageId: 'order-7', subscriptionId, bucket },
    acceptedAt: NOON,
    status: 'retrying',
    round: 1,
    attempts: [
      {
        number: 1,
        round: 1,
        phase: 'initial',
        startedAt: NOON,
        durationMs: 12,
        outcome: 'failed',
        result: answered(503),
      },
    ],
    lateResults: [],
    lost: 0,
    next: { number: 2, phase: 'immediate', dueAt: NOON + 1000, by: 'sqs_delay' },
    lease: { owner: 'internal', until: NOON },
    pendingSteps: [],
    recoveries: [],
    updatedAt: NOON,
    expiresAt: NOON + 1,
  });

  it('answers 404 for a message that is unknown or not yet dispatched', async () => {
    const { call } = apiUnderTest();
    await call('POST', PATH, { messages: [{ id: 'order-7', body: 1 }] });
    expect(await call('GET', `${PATH}/order-7/deliveries`)).toMatchObject({
      status: 404,
      body: faultOf('not_found'),
    });
  });

  it('answers with an empty list until the first delivery is recorded', async () => {
    const { call, messageRecords } = apiUnderTest();
    await messageRecords.accept(record('order-7'));
    expect(await call('GET', `${PATH}/order-7/deliveries`)).toMatchObject({
      status: 200,
      body: { deliveries: [], links: [] },
    });
  });

  it('shows the deliveries of all buckets, without internal fields', async () => {
    const { call, messageRecords, deliveries } = apiUnderTest();
    await messageRecords.accept(record('order-7', 2));
    const recorded = [delivery('one', 0), delivery('two', 1)];
    for (const create of recorded) {
      await deliveries.write({ name: 'open', key: create.key, expect: { kind: 'absent' }, create });
    }
    const answer = await call('GET', `${PATH}/order-7/deliveries`);
    expect(answer).toMatchObject({
      status: 200,
      body: { deliveries: recorded.map(deliveryView), links: [] },
    });
    expect(JSON.stringify(answer.body)).not.toContain('internal');
  });

  it('pages through all deliveries by links, each once', async () => {
    const { call, messageRecords, deliveries } = apiUnderTest();
    await messageRecords.accept(record('order-7', 2));
    for (const [index, subscription] of ['a', 'b', 'c', 'd', 'e', 'f', 'g'].entries()) {
      const create = delivery(subscription, index % 2);
      await deliveries.write({ name: 'open', key: create.key, expect: { kind: 'absent' }, create });
    }
    const seen: string[] = [];
    for (let path: string | undefined = `${PATH}/order-7/deliveries?limit=3`; path !== undefined;) {
      const page = z
        .object({ deliveries: z.array(deliveryViewSchema), links: z.array(z.object({ href: z.string() })) })
        .parse((await call('GET', path)).body);
      expect(page.deliveries.length).toBeLessThanOrEqual(3);
      seen.push(...page.deliveries.map(({ subscriptionId }) => subscriptionId));
      path = page.links[0]?.href;
    }
    expect(seen.join('')).toBe('acegbdf');
  });

  it.each(['limit=0', 'limit=ten', 'marker=x'])('refuses ?%s', async (query) => {
    const { call, messageRecords } = apiUnderTest();
    await messageRecords.accept(record('order-7'));
    expect(await call('GET', `${PATH}/order-7/deliveries?${query}`)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', query.split('=')[0] ?? ''),
    });
  });

  it("accepts the producer's message id", async () => {
    const { call, messageRecords } = apiUnderTest();
    await messageRecords.accept(record(messageIdOf({ id: 'order 7 ü' }).id));
    expect(await call('GET', `${PATH}/${encodeURIComponent('order 7 ü')}/deliveries`)).toMatchObject({
      status: 200,
    });
  });

  it("does not find another queue's message", async () => {
    const { call, messageRecords } = apiUnderTest();
    await messageRecords.accept(record('order-7'));
    expect(await call('GET', '/v2/queues/bills/messages/order-7/deliveries')).toMatchObject({ status: 404 });
  });
});
