import { describe, expect, it } from 'vitest';
import { notification, parse, plain, SENT_AT } from './ingress-samples.ts';

const dataRef = { bucket: 'shop-exports', key: 'webhooks/order 17/é.json' };

describe('a reference to data', () => {
  it("replaces data in Posthaste's envelope, with all other fields", () => {
    const body = { queue: 'orders', id: 'a', type: 't', ttl: 60, delay: 5, dataRef };
    expect(parse(body)).toEqual({
      ok: true,
      message: {
        queue: 'orders',
        id: 'a',
        type: 't',
        timestamp: plain.timestamp,
        expiresAt: SENT_AT + 60_000,
      },
      dataRef,
      delaySeconds: 5,
    });
  });

  it('may contain a version id', () => {
    const versioned = { ...dataRef, versionId: '3HL4kqtJvjVBH40Nrjfkd' };
    expect(parse({ queue: 'orders', dataRef: versioned })).toEqual({
      ok: true,
      message: plain,
      dataRef: versioned,
    });
  });

  it("identifies Posthaste's envelope, also in an SNS notification", () => {
    const expected = { ok: true, message: { queue: 'orders' }, dataRef };
    expect(parse({ dataRef }, { queue: 'orders' })).toMatchObject(expected);
    expect(parse(notification({ dataRef }), { queue: 'orders' })).toMatchObject(expected);
  });

  it('may contain unknown fields, which are ignored', () => {
    expect(parse({ queue: 'orders', dataRef: { ...dataRef, etag: '"1"' } })).toMatchObject({ dataRef });
  });

  it('inside the data of a message is data', () => {
    expect(parse({ queue: 'orders', data: { dataRef } })).toMatchObject({
      message: { data: JSON.stringify({ dataRef }) },
    });
  });

  it.each<[string, unknown, string]>([
    ['beside data', { data: null, dataRef }, 'invalid_field:dataRef'],
    ['as text', { dataRef: 's3://shop-exports/a.json' }, 'invalid_field:dataRef'],
    ['of null', { dataRef: null }, 'invalid_field:dataRef'],
    ['without a bucket', { dataRef: { key: 'a' } }, 'invalid_field:dataRef.bucket'],
    ['without a key', { dataRef: { bucket: 'shop-exports' } }, 'invalid_field:dataRef.key'],
    ['to an empty key', { dataRef: { ...dataRef, key: '' } }, 'invalid_field:dataRef.key'],
    [
      'to a key over 1024 bytes',
      { dataRef: { ...dataRef, key: 'é'.repeat(513) } },
      'invalid_field:dataRef.key',
    ],
    ['to a version of null', { dataRef: { ...dataRef, versionId: null } }, 'invalid_field:dataRef.versionId'],
  ])('is refused: %s', (_what, body, reason) => {
    expect(parse(body, { queue: 'orders' })).toEqual({ ok: false, reason });
  });

  it('may have the longest key that S3 allows', () => {
    const key = 'é'.repeat(512);
    expect(parse({ queue: 'orders', dataRef: { ...dataRef, key } })).toMatchObject({ dataRef: { key } });
  });
});
