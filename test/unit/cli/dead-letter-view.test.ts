import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeDeadLetter, detailOf } from '../../../cli/dead-letters/describe.ts';
import { matcherOf } from '../../../cli/dead-letters/filter.ts';
import type { DeadLetter, DeadLetterAttributes } from '../../../shared/domain/delivery/dead-letter.ts';
import { REDRIVEN_QUEUES } from '../../../shared/domain/work-queues.ts';
import { encodeFirstJob } from '../../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation } from '../../../shared/wire/jobs/operation.ts';
import { aMessage } from '../../support/builders.ts';

const SENT_AT = Date.UTC(2026, 0, 1);

const text = (value: string) => ({ type: 'String', text: value });

const aDeadLetter = (body: string, attributes: DeadLetterAttributes = {}): DeadLetter => ({
  id: '0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10',
  sentAt: SENT_AT,
  receipt: 'r',
  body,
  attributes,
  receives: 51,
});

const body = {
  kind: 'inline' as const,
  message: aMessage({ queue: 'orders', id: 'm1', data: '{"total":1}' }),
};
const place = { queue: 'orders', messageId: 'm1', bucket: 0 };

describe('a dead letter as it is shown', () => {
  it('names the queue, the message and the reason of what a producer sent', () => {
    const deadLetter = aDeadLetter('{"queue":"orders","id":"m1","data":{"total":1}}', {
      reason: text('unknown_queue'),
    });
    expect(describeDeadLetter('ingress', deadLetter)).toEqual({
      which: 'ingress',
      id: deadLetter.id,
      sentAt: '2026-01-01T00:00:00.000Z',
      receives: 51,
      reason: 'unknown_queue',
      queue: 'orders',
      messageId: 'm1',
      subscriptionIds: [],
      bytes: 47,
      excerpt: '{"queue":"orders","id":"m1","data":{"total":1}}',
    });
  });

  it('shows the message id that a redrive keeps, and the names in a message that dispatch could not read', () => {
    const attributes = { 'posthaste-id': text('first'), queue: text('orders') };
    expect(describeDeadLetter('ingress', aDeadLetter('{"a":1}', attributes))).toMatchObject({
      queue: 'orders',
      messageId: 'first',
    });
    expect(describeDeadLetter('ingress', aDeadLetter('{"queue":"orders","id":"m1"}'))).toMatchObject({
      queue: 'orders',
      messageId: 'm1',
    });
  });

  it('names the subscriptions of jobs, and excerpts the data of the message', () => {
    const job = encodeFirstJob({
      kind: 'job',
      key: { ...place, subscriptionId: 's1' },
      attempt: 1,
      acceptedAt: 1,
      body,
    });
    const chunk = encodeFirstJob({
      kind: 'chunk',
      key: { ...place, chunk: 0 },
      subscriptionIds: ['s1', 's2'],
      acceptedAt: 1,
      body,
    });
    const shown = { queue: 'orders', messageId: 'm1', excerpt: '{"total":1}' };
    expect(describeDeadLetter('delivery', aDeadLetter(job))).toMatchObject({
      ...shown,
      subscriptionIds: ['s1'],
    });
    expect(describeDeadLetter('delivery', aDeadLetter(chunk))).toMatchObject({
      ...shown,
      subscriptionIds: ['s1', 's2'],
    });
  });

  it('shows operations and notices, whose reason is that of the delivery', () => {
    const operation = encodeOperation({ kind: 'moving_up', queue: 'orders', subscriptionId: 's1' });
    expect(describeDeadLetter('operation', aDeadLetter(operation))).toMatchObject({
      queue: 'orders',
      subscriptionIds: ['s1'],
    });
    const notice = { queue: 'orders', messageId: 'm1', subscriptionId: 's1', reason: 'http_400', data: [1] };
    expect(describeDeadLetter('undeliverable', aDeadLetter(JSON.stringify(notice)))).toMatchObject({
      reason: 'http_400',
      messageId: 'm1',
      subscriptionIds: ['s1'],
      excerpt: '[1]',
    });
  });

  it('is on one line without control characters and bounded, for any body and attributes', () => {
    const names = fc.dictionary(fc.constantFrom('queue', 'id', 'reason', 'x'), fc.anything());
    const bodies = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 2000 }),
      names.map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.constantFrom(...REDRIVEN_QUEUES), bodies, (which, given) => {
        const { excerpt } = describeDeadLetter(which, aDeadLetter(given));
        expect(excerpt.length).toBeLessThanOrEqual(120);
        expect(excerpt).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      }),
    );
  });
});

describe('credentials in a dead letter', () => {
  const link = 'https://api.example.com/v2/confirm?token=geheim';
  const data = JSON.stringify({ queue: 'orders', confirmUrl: link, note: 'kept' });

  it.each([
    ['in a job', JSON.stringify({ message: { data: JSON.parse(data) as unknown } })],
    ['in JSON inside a string', JSON.stringify({ Message: data })],
    ['with escaped slashes', data.replaceAll('/', '\\/')],
    ['of SNS', JSON.stringify({ note: 'kept', UnsubscribeURL: link })],
  ])('are redacted: a link that confirms, %s', (_, given) => {
    const detail = detailOf('delivery', aDeadLetter(given));
    expect(JSON.stringify(detail)).not.toContain('geheim');
    expect(detail.body).toContain('***');
    expect(detail.body).toContain('kept');
  });

  it('are redacted in attributes by name and by value', () => {
    const attributes = {
      'x-api-key': text('geheim'),
      note: text('Bearer geheim'),
      reason: text('not_json'),
      picture: { type: 'Binary', bytes: Uint8Array.of(1, 2) },
    };
    expect(detailOf('ingress', aDeadLetter('{', attributes)).attributes).toEqual({
      'x-api-key': '***',
      note: '***',
      reason: 'not_json',
      picture: 'AQI=',
    });
  });
});

describe('the filter of dead letters', () => {
  const notice = (reason: string | undefined) =>
    aDeadLetter(JSON.stringify({ queue: 'orders', subscriptionId: 'sub-17', reason }));

  it.each([
    [{ queue: 'orders' }, true],
    [{ queue: 'order' }, false],
    [{ subscription: 'sub-1' }, true],
    [{ subscription: 'ub-17' }, false],
    [{ reason: 'invalid_field' }, true],
    [{ reason: 'invalid_field:data' }, true],
    [{ reason: 'invalid' }, false],
    [{ reason: 'none' }, false],
    [{ id: ['0b8d4c4e'] }, true],
    [{ id: ['1b8d4c4e', '0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10'] }, true],
    [{ id: ['b8d4c4e'] }, false],
    [{ id: ['0b8d4c4e'], queue: 'others' }, false],
  ])('%j passes: %s', (filter, passes) => {
    expect(matcherOf('undeliverable', filter)?.(notice('invalid_field:data'))).toBe(passes);
  });

  it('finds messages without a reason as none', () => {
    expect(matcherOf('undeliverable', { reason: 'none' })?.(notice(undefined))).toBe(true);
  });

  it('is absent if nothing was given', () => {
    expect(matcherOf('ingress', {})).toBeUndefined();
  });
});
