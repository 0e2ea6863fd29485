import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  buildConfirmationId,
  CONFIRMATION_TYPE,
  hashToken,
} from '../../../shared/domain/subscription/confirmation.ts';
import { cloudEvent, eventBridgeEvent, notification, parse, TOPIC } from './ingress-samples.ts';
import { jsonText } from './json-text.ts';

const confirmationId = buildConfirmationId({ tokenHash: hashToken('a token') });

describe('a malformed message is refused', () => {
  const own = { queue: 'orders', data: 1 };

  it.each<[string, unknown, string]>([
    ['nothing', '', 'not_json'],
    ['text', 'hello', 'not_json'],
    ['half an object', '{"queue":"orders"', 'not_json'],
    ['1 MiB of brackets', '['.repeat(1_048_576), 'not_json'],
    ['no queue', { data: 1 }, 'queue_missing'],
    ['an array', [1], 'queue_missing'],
    ['null', null, 'queue_missing'],
    ['an event without a route', eventBridgeEvent, 'queue_missing'],
    ['a notification without a route', notification('x'), 'queue_missing'],
    ['no data', { queue: 'orders' }, 'data_missing'],
  ])('for %s', (_name, body, reason) => {
    expect(parse(body)).toEqual({ ok: false, reason });
  });

  it.each<[string, unknown, string]>([
    ['a queue that is not text', { ...own, queue: 5 }, 'queue'],
    ['an invalid queue name', { ...own, queue: 'a#b' }, 'queue'],
    ['an empty queue', { ...own, queue: '' }, 'queue'],
    ['a queue name too long', { ...own, queue: 'q'.repeat(65) }, 'queue'],
    ['an id that is not text', { ...own, id: 5 }, 'id'],
    ['an empty id', { ...own, id: '' }, 'id'],
    ['a type that is not text', { ...own, type: ['a'] }, 'type'],
    ['a type too long', { ...own, type: 't'.repeat(257) }, 'type'],
    ['a type with a lone surrogate', { ...own, type: 'order\ud800' }, 'type'],
    ['an id with a lone surrogate', { ...own, id: '\udc00' }, 'id'],
    ['the type of confirmation requests', { ...own, type: CONFIRMATION_TYPE }, 'type'],
    ['an id with the prefix of confirmation requests', { ...own, id: 'confirm_x' }, 'id'],
    ['the id of a confirmation request', { ...own, id: confirmationId }, 'id'],
    ['a type of null', { ...own, type: null }, 'type'],
    ['a ttl as text', { ...own, ttl: '60' }, 'ttl'],
    ['a ttl of 0', { ...own, ttl: 0 }, 'ttl'],
    ['a fractional ttl', { ...own, ttl: 0.5 }, 'ttl'],
    ['an excessive ttl', { ...own, ttl: 1e300 }, 'ttl'],
    ['a boolean delay', { ...own, delay: true }, 'delay'],
    ['a delay over 15 minutes', { ...own, delay: 901 }, 'delay'],
    ['a negative delay', { ...own, delay: -1 }, 'delay'],
    ['a CloudEvent of another version', { ...cloudEvent, specversion: '0.3' }, 'specversion'],
    ['a CloudEvent without source', { ...cloudEvent, source: undefined }, 'source'],
    ['a CloudEvent without id', { ...cloudEvent, id: undefined }, 'id'],
    ['a CloudEvent with an invalid date', { ...cloudEvent, time: '2018-02-30T00:00:00Z' }, 'time'],
    ['a time after the year 9999 in UTC', { ...cloudEvent, time: '9999-12-31T23:59:59-01:00' }, 'time'],
    ['a time before the year 0 in UTC', { ...cloudEvent, time: '0000-01-01T00:00:00+01:00' }, 'time'],
    ['a CloudEvent with data and data_base64', { ...cloudEvent, data_base64: 'AAEC' }, 'data_base64'],
    ['bytes that are not base64', { ...cloudEvent, data: undefined, data_base64: '*' }, 'data_base64'],
    ['an event whose detail-type is not text', { ...eventBridgeEvent, 'detail-type': 1 }, 'detail-type'],
    ['an event with an invalid time', { ...eventBridgeEvent, time: 'noon' }, 'time'],
    ['a notification whose Message is not text', { ...notification('x'), Message: 1 }, 'Message'],
    ['a notification whose Message has a lone surrogate', notification('"half \ud800"'), 'Message'],
    ['a notification with an invalid time', { ...notification('x'), Timestamp: 1 }, 'Timestamp'],
    ['a faulty envelope inside a notification', notification({ ...own, ttl: 'x' }), 'ttl'],
  ])('for %s, and names its field', (_name, body, field) => {
    expect(parse(body)).toEqual({ ok: false, reason: `invalid_field:${field}` });
  });

  it('for an invalid queue name in an attribute', () => {
    expect(parse('1', { queue: 'a b' })).toEqual({ ok: false, reason: 'invalid_field:queue' });
  });

  it('for a body that is not JSON with CloudEvents attributes', () => {
    expect(parse('text', { 'ce-specversion': '1.0' })).toEqual({ ok: false, reason: 'not_json' });
  });

  it('for a queue that its topic may not send to, from any source', () => {
    const routes = { [TOPIC]: ['returns', 'refunds'] };
    const reason = 'queue_not_allowed';
    const own = notification({ queue: 'orders', data: 1 });
    const byAttribute = notification('1', {
      MessageAttributes: { queue: { Type: 'String', Value: 'orders' } },
    });
    expect(parse(own, {}, routes)).toEqual({ ok: false, reason });
    expect(parse(byAttribute, {}, routes)).toEqual({ ok: false, reason });
    expect(parse(notification('1'), { queue: 'orders' }, routes)).toEqual({ ok: false, reason });
    expect(parse(notification({ queue: 'refunds', data: 1 }), {}, routes)).toMatchObject({
      message: { queue: 'refunds' },
    });
    expect(parse(notification('1'), {}, routes)).toMatchObject({ message: { queue: 'returns' } });
    expect(parse(own, {}, {})).toMatchObject({ message: { queue: 'orders' } });
  });

  it('for a source named like an inherited property', () => {
    expect(parse({ ...eventBridgeEvent, source: 'constructor' })).toEqual({
      ok: false,
      reason: 'queue_missing',
    });
  });

  it('without an exception for any body', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), jsonText), fc.boolean(), (body, named) => {
        expect(typeof parse(body, named ? { queue: 'orders' } : {}).ok).toBe('boolean');
      }),
      { numRuns: 500 },
    );
  });
});
