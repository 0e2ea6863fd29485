import { beforeEach, describe, expect, it } from 'vitest';
import type { Message } from '../../../shared/domain/message/message.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { tokenHashOf } from '../../../shared/domain/subscription/confirmation.ts';
import { confirmationMessage } from '../../../shared/domain/message/confirmation-request.ts';
import { aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';

const ID = 'subscription-1';

let api: ReturnType<typeof apiUnderTest>;

const subscribed = async (options: SubscriptionOptions = {}): Promise<void> => {
  await api.registry.putQueue(aQueue());
  await api.registry.addSubscription(aSubscription({ id: ID, options }));
};

const recorded = (message: Message, isKept = true) =>
  api.messageRecords.accept({
    key: { queue: 'orders', messageId: message.id },
    acceptedAt: NOON,
    listedAt: NOON,
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets: 1,
    expiresAt: NOON + 1_000_000,
    ...(isKept && { body: { kind: 'inline', message } as const }),
  });

const payloadOf = (messageId: string, subscription = ID) =>
  api.call('GET', `/v2/queues/orders/messages/${messageId}/deliveries/${subscription}/payload`);

describe('GET …/deliveries/{subscription}/payload', () => {
  beforeEach(() => {
    api = apiUnderTest();
  });

  it.each<[string, SubscriptionOptions, RegExp]>([
    ['the standard body', {}, /^\{"id":"m1","queue":"orders",.*"data":12345678901234567890\}$/],
    ['the bare data', { raw_delivery: true }, /^12345678901234567890$/],
    ['a template', { post_data: '["$zaqar_message$"]' }, /^\[\{"id":"m1",.*\}\]$/],
  ])('shows %s as deliver sends it', async (_, options, body) => {
    await subscribed(options);
    await recorded(aMessage({ id: 'm1', data: '12345678901234567890' }));
    expect(await payloadOf('m1')).toMatchObject({
      status: 200,
      body: { body: expect.stringMatching(body) as string },
    });
  });

  it('shows nothing while the message is not stored', async () => {
    await subscribed();
    await recorded(aMessage({ id: 'm1' }), false);
    expect(await payloadOf('m1')).toMatchObject({ status: 200, body: {} });
  });

  it('does not show the link of a confirmation request', async () => {
    await subscribed();
    const link = { tokenHash: tokenHashOf('token'), confirmUrl: 'https://api.example/confirm?token=secret' };
    const message = confirmationMessage({ queue: 'orders', id: ID }, link, NOON);
    await recorded(message);
    const { status, body } = await payloadOf(message.id);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toContain('***');
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('says why a message cannot be rendered', async () => {
    api = apiUnderTest({ render: () => Promise.resolve({ kind: 'unrendered', detail: 'no such field' }) });
    await subscribed();
    await recorded(aMessage({ id: 'm1' }));
    expect(await payloadOf('m1')).toMatchObject({ status: 200, body: { fault: 'no such field' } });
  });

  it('answers 404 for an unknown message or subscription', async () => {
    await subscribed();
    await recorded(aMessage({ id: 'm1' }));
    for (const answer of [await payloadOf('m2'), await payloadOf('m1', 'another')])
      expect(answer).toMatchObject({ status: 404, body: faultOf('not_found') });
  });
});
