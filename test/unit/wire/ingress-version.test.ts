import { describe, expect, it } from 'vitest';
import { parseIngress } from '../../../shared/wire/ingress/message.ts';
import { cloudEvent, received, SENT_AT } from './ingress-samples.ts';

const versionIn = (body: unknown, sentAt = SENT_AT): string => {
  const parsed = parseIngress({ ...received(body), sentAt }, {});
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.version;
};

const published = {
  queue: 'orders',
  id: 'm-1',
  type: 'order.created',
  ttl: 60,
  delay: 5,
  data: { total: 1 },
};
const dataRef = { bucket: 'producer', key: 'webhooks/17.json' };

describe('the version of a published message', () => {
  it('is the same for a later copy', () => {
    expect(versionIn(published, SENT_AT + 60_000)).toBe(versionIn(published));
  });

  it('is the same for a copy in another trace', () => {
    const inTrace = (digit: string) => {
      const traceparent = `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
      const parsed = parseIngress(received(published, { traceparent }), {});
      return parsed.ok ? parsed.version : parsed.reason;
    };
    expect(inTrace('a')).toBe(inTrace('b'));
    expect(inTrace('a')).toBe(versionIn(published));
  });

  it.each([
    ['data', { data: { total: 2 } }],
    ['data type', { data: ['1'] }],
    ['type', { type: 'order.cancelled' }],
    ['ttl', { ttl: 61 }],
    ['delay', { delay: 6 }],
    ['no type', { type: undefined }],
    ['no ttl', { ttl: undefined }],
    ['no delay', { delay: undefined }],
  ])('changes with another value: %s', (_what, change) => {
    expect(versionIn({ ...published, ...change })).not.toBe(versionIn(published));
  });

  it('differs for ttl and delay with the same number', () => {
    const { ttl: _ttl, delay: _delay, ...rest } = published;
    expect(versionIn({ ...rest, ttl: 7 })).not.toBe(versionIn({ ...rest, delay: 7 }));
  });

  it('is the same for repeated publishing through SNS', () => {
    const through = (Timestamp: string, MessageId: string) =>
      versionIn({
        Type: 'Notification',
        TopicArn: 'arn:aws:sns:us-east-1:000000000000:orders',
        Message: JSON.stringify(published),
        Timestamp,
        MessageId,
      });
    expect(through('2026-11-22T12:00:05.000Z', 'b')).toBe(through('2026-11-22T12:00:00.000Z', 'a'));
    expect(through('2026-11-22T12:00:00.000Z', 'a')).toBe(versionIn(published));
  });

  it("changes with the producer's time", () => {
    const later = { ...cloudEvent, queue: 'orders', time: '2018-04-05T17:31:01Z' };
    expect(versionIn(later)).not.toBe(versionIn({ ...later, time: cloudEvent.time }));
  });

  it.each([
    ['bucket', { ...dataRef, bucket: 'other' }],
    ['key', { ...dataRef, key: 'webhooks/18.json' }],
    ['version of the object', { ...dataRef, versionId: '2' }],
  ])('changes with a data reference to another %s', (_what, other) => {
    const referring = { queue: 'orders', id: 'm-1' };
    expect(versionIn({ ...referring, dataRef: other })).not.toBe(versionIn({ ...referring, dataRef }));
  });

  it('is the same across releases, because records store it', () => {
    expect(versionIn(published)).toBe('Yya4sDZnHkxiD0pk');
    expect(versionIn({ queue: 'orders', id: 'm-1', dataRef })).toBe('fUAxYBMcO-UqoNeM');
  });
});
