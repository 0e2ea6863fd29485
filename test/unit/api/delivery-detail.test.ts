import { describe, expect, it } from 'vitest';
import { bucketOf } from '../../../shared/domain/delivery/fan-out.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { deliveryDetailSchema, deliveryView } from '../../../shared/wire/views/delivery.ts';
import { aBarePolicy, aQueue, aSubscription } from '../../support/builders.ts';
import { aDelivery, aDeliveryKey, anAttempt } from '../../support/delivery-builders.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';
import { recordAll, recordMessage } from './recorded.ts';

const PATH = '/v2/queues/orders/messages/order-7/deliveries/s-1';
const place = { messageId: 'order-7', subscriptionId: 's-1' };

const detailOf = async ({ call }: Pick<ReturnType<typeof apiUnderTest>, 'call'>, path = PATH) => {
  const { status, body } = await call('GET', path);
  expect(status).toBe(200);
  return deliveryDetailSchema.strict().parse(body);
};

describe('GET /v2/queues/{queue}/messages/{id}/deliveries/{subscription}', () => {
  it('shows all attempts, the policy and the planned attempts', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7' });
    const policy = aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 });
    const [delivery = aDelivery()] = await recordAll(api, [
      {
        ...place,
        attempts: [anAttempt({ startedAt: NOON, durationMs: 1000 })],
        next: { number: 2, phase: 'pre_backoff', dueAt: NOON + 61_000, by: 'sqs_delay' },
        policy,
      },
    ]);
    expect(await detailOf(api)).toEqual({
      ...deliveryView(delivery),
      policy,
      policySource: 'delivery',
      planned: [
        { number: 2, phase: 'pre_backoff', dueAt: '2026-11-21T12:01:01.000Z' },
        { number: 3, phase: 'pre_backoff', dueAt: '2026-11-21T12:02:01.000Z' },
        { number: 4, phase: 'pre_backoff', dueAt: '2026-11-21T12:03:01.000Z' },
      ],
    });
  });

  it('shows no planned attempts once the delivery has ended', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7' });
    await recordAll(api, [
      { ...place, status: 'delivered', attempts: [anAttempt({ outcome: 'delivered' })] },
    ]);
    expect(await detailOf(api)).toMatchObject({ status: 'delivered', planned: [] });
  });

  it.each([
    ['subscription', { minimum_delay: 7 }, { minimum_delay: 8 }, { minimum_delay: 7 }],
    ['queue', undefined, { minimum_delay: 8 }, { minimum_delay: 8 }],
    [
      'queue',
      { minimum_delay: 7 },
      { minimum_delay: 8, ignore_subscription_override: true },
      { minimum_delay: 8, ignore_subscription_override: true },
    ],
    ['defaults', undefined, undefined, {}],
  ])(
    'shows the policy of the %s if the delivery has none yet',
    async (source, ofSubscription, ofQueue, expected) => {
      const api = apiUnderTest();
      await api.registry.putQueue(aQueue(ofQueue === undefined ? {} : { retryPolicy: ofQueue }));
      await api.registry.addSubscription(
        aSubscription({
          id: 's-1',
          options: ofSubscription === undefined ? {} : { _retry_policy: ofSubscription },
        }),
      );
      await recordMessage(api, { messageId: 'order-7' });
      await recordAll(api, [{ ...place, status: 'pending' }]);
      const { policy, policySource, planned } = await detailOf(api);
      expect({ policy, policySource }).toEqual({
        policy: { ...DEFAULT_RETRY_POLICY, ...expected },
        policySource: source,
      });
      expect(planned).toHaveLength(20);
      expect(planned[0]).toMatchObject({ number: 1, phase: 'initial' });
    },
  );

  it('shows the default policy if queue and subscription are deleted', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7' });
    await recordAll(api, [{ ...place, status: 'cancelled', reason: 'subscription_deleted' }]);
    expect(await detailOf(api)).toMatchObject({ policySource: 'defaults', planned: [] });
  });

  it('finds the delivery in its bucket', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7', buckets: 7 });
    const bucket = bucketOf('s-1', 7);
    expect(bucket).toBeGreaterThan(0);
    const create = aDelivery({ key: aDeliveryKey({ queue: 'orders', ...place, bucket }) });
    await api.deliveries.write({ name: 'open', key: create.key, expect: { kind: 'absent' }, create });
    expect(await detailOf(api)).toMatchObject(place);
  });

  it.each([
    '/v2/queues/orders/messages/order-7/deliveries/s-2',
    '/v2/queues/orders/messages/order-8/deliveries/s-1',
    '/v2/queues/bills/messages/order-7/deliveries/s-1',
    '/v2/queues/orders/messages/order-7/deliveries/a%00b',
  ])('answers 404 to %s', async (path) => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7' });
    await recordAll(api, [place]);
    expect(await api.call('GET', path)).toMatchObject({ status: 404, body: faultOf('not_found') });
  });
});
