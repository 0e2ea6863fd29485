import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CONFIRMATION_TYPE,
  confirmationIdOf,
  tokenHashOf,
} from '../../../shared/domain/subscription/confirmation.ts';
import {
  cloudEvent,
  cloudEventIdentity,
  dataless,
  eventBridgeEvent,
  notification,
  parse,
  plain,
  TOPIC,
} from './ingress-samples.ts';
import { jsonText } from './json-text.ts';

describe('a CloudEvent', () => {
  const expected = {
    ...cloudEventIdentity,
    queue: 'orders',
    type: 'com.example.created',
    timestamp: '2018-04-05T17:31:00.000Z',
    data: '{"n":1}',
  };

  it('in structured mode is parsed with its attributes and data', () => {
    expect(parse({ ...cloudEvent, queue: 'orders' })).toEqual({ ok: true, message: expected });
  });

  it.each(['ce-', 'ce_', 'cloudEvents_'])(
    'in binary mode is parsed from the body and attributes with the prefix %s',
    (prefix) => {
      const attributes = Object.fromEntries(
        Object.entries({ ...dataless, queue: 'orders' }).map(([name, value]) => [`${prefix}${name}`, value]),
      );
      expect(parse(' {"n":1} ', attributes)).toEqual({ ok: true, message: expected });
    },
  );

  it('has a message id derived from its id and source', () => {
    const ids = ['a', 'b'].map((source) => {
      const parsed = parse({ ...cloudEvent, source, queue: 'orders' });
      return parsed.ok ? parsed.message.id : parsed.reason;
    });
    expect(new Set(ids).size).toBe(2);
    expect(ids).toEqual([expect.stringMatching(/^x_/), expect.stringMatching(/^x_/)]);
  });

  it('with binary data has the base64 text as data', () => {
    expect(parse({ ...dataless, queue: 'orders', data_base64: 'AAEC/w==' })).toMatchObject({
      message: { data: '"AAEC/w=="' },
    });
  });

  it('without data has null as data', () => {
    expect(parse({ ...dataless, queue: 'orders' })).toMatchObject({ message: { data: 'null' } });
  });

  it('may have null for unset attributes', () => {
    expect(
      parse({ ...cloudEvent, queue: null, time: null }, {}, { [cloudEvent.source]: 'orders' }),
    ).toMatchObject({
      message: { queue: 'orders', timestamp: plain.timestamp },
    });
  });

  it('has its time converted to UTC with milliseconds', () => {
    expect(parse({ ...cloudEvent, queue: 'orders', time: '2018-04-05t19:31:00.123456+02:00' })).toMatchObject(
      {
        message: { timestamp: '2018-04-05T17:31:00.123Z' },
      },
    );
  });

  it('is routed by its type before its source', () => {
    const routes = { [cloudEvent.type]: 'by-type', [cloudEvent.source]: 'by-source' };
    expect(parse(cloudEvent, {}, routes)).toMatchObject({ message: { queue: 'by-type' } });
  });
});

describe('an EventBridge event', () => {
  it('is parsed with its detail, detail-type, id and time, and routed by its source', () => {
    expect(parse(eventBridgeEvent, {}, { 'aws.ec2': 'orders' })).toEqual({
      ok: true,
      message: {
        queue: 'orders',
        id: eventBridgeEvent.id,
        type: 'EC2 Instance State-change Notification',
        timestamp: '2017-12-22T18:43:48.000Z',
        data: '{"state":"terminated"}',
      },
    });
  });

  it('is routed by its detail-type before its source', () => {
    const routes = { 'aws.ec2': 'by-source', [eventBridgeEvent['detail-type']]: 'by-type' };
    expect(parse(eventBridgeEvent, {}, routes)).toMatchObject({ message: { queue: 'by-type' } });
  });

  it('keeps its detail byte for byte', () => {
    const body = JSON.stringify({ ...eventBridgeEvent, detail: 0 }).replace(
      '"detail":0',
      '"detail": {"n" : 1.0e3} ',
    );
    expect(parse(body, { queue: 'orders' })).toMatchObject({ message: { data: '{"n" : 1.0e3}' } });
  });
});

describe('an SNS notification', () => {
  const wrapped = {
    queue: 'orders',
    id: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    timestamp: '2012-05-02T00:54:06.655Z',
  };

  it.each([
    ["the topic's ARN", TOPIC],
    ["the topic's name", 'MyTopic'],
  ])('is routed by %s, with its JSON text as data', (_name, key) => {
    expect(parse(notification('{"n": 1.0}'), {}, { [key]: 'orders' })).toEqual({
      ok: true,
      message: { ...wrapped, data: '{"n": 1.0}' },
    });
  });

  it('has text that is not JSON as a JSON string, and its Subject as type', () => {
    expect(parse(notification('Hello "you"', { Subject: 'greeting' }), { queue: 'orders' })).toEqual({
      ok: true,
      message: { ...wrapped, type: 'greeting', data: '"Hello \\"you\\""' },
    });
  });

  it('uses its message attributes like SQS attributes', () => {
    const MessageAttributes = { queue: { Type: 'String', Value: 'orders' } };
    expect(parse(notification({ n: 1 }, { MessageAttributes }))).toMatchObject({
      message: { ...wrapped, data: '{"n":1}' },
    });
  });

  it('may contain any other envelope, whose fields take precedence', () => {
    const own = { queue: 'orders', id: 'a', type: 'own', data: 1 };
    expect(parse(notification(own, { Subject: 's' }), {}, { [TOPIC]: 'routed' })).toEqual({
      ok: true,
      message: { ...wrapped, id: 'a', type: 'own', data: '1' },
    });
    expect(parse(notification({ ...cloudEvent, queue: 'orders' }))).toMatchObject({
      message: { ...cloudEventIdentity, timestamp: '2018-04-05T17:31:00.000Z' },
    });
    expect(
      parse(notification(eventBridgeEvent), {}, { [TOPIC]: 'topic', 'aws.ec2': 'orders' }),
    ).toMatchObject({
      message: { queue: 'orders', data: '{"state":"terminated"}' },
    });
  });

  it('inside a notification is data', () => {
    const inner = JSON.stringify(notification('x'));
    expect(parse(notification(inner), { queue: 'orders' })).toMatchObject({ message: { data: inner } });
  });

  it('cannot claim the id of a redrive', () => {
    const MessageAttributes = { 'posthaste-id': { Type: 'String', Value: 'forged' } };
    expect(parse(notification('x', { MessageAttributes }), { queue: 'orders' })).toMatchObject({
      message: { id: wrapped.id },
    });
  });
});

const confirmationId = confirmationIdOf({ tokenHash: tokenHashOf('a token') });

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
    ['a queue that is not text', { ...own, queue: 5 }, 'invalid_field:queue'],
    ['an invalid queue name', { ...own, queue: 'a#b' }, 'invalid_field:queue'],
    ['an empty queue', { ...own, queue: '' }, 'invalid_field:queue'],
    ['a queue name too long', { ...own, queue: 'q'.repeat(65) }, 'invalid_field:queue'],
    ['an id that is not text', { ...own, id: 5 }, 'invalid_field:id'],
    ['an empty id', { ...own, id: '' }, 'invalid_field:id'],
    ['a type that is not text', { ...own, type: ['a'] }, 'invalid_field:type'],
    ['a type too long', { ...own, type: 't'.repeat(257) }, 'invalid_field:type'],
    ['a type with a lone surrogate', { ...own, type: 'order\ud800' }, 'invalid_field:type'],
    ['an id with a lone surrogate', { ...own, id: '\udc00' }, 'invalid_field:id'],
    ['the type of confirmation requests', { ...own, type: CONFIRMATION_TYPE }, 'invalid_field:type'],
    ['an id with the prefix of confirmation requests', { ...own, id: 'confirm_x' }, 'invalid_field:id'],
    ['the id of a confirmation request', { ...own, id: confirmationId }, 'invalid_field:id'],
    ['a type of null', { ...own, type: null }, 'invalid_field:type'],
    ['a ttl as text', { ...own, ttl: '60' }, 'invalid_field:ttl'],
    ['a ttl of 0', { ...own, ttl: 0 }, 'invalid_field:ttl'],
    ['a fractional ttl', { ...own, ttl: 0.5 }, 'invalid_field:ttl'],
    ['an excessive ttl', { ...own, ttl: 1e300 }, 'invalid_field:ttl'],
    ['a boolean delay', { ...own, delay: true }, 'invalid_field:delay'],
    ['a delay over 15 minutes', { ...own, delay: 901 }, 'invalid_field:delay'],
    ['a negative delay', { ...own, delay: -1 }, 'invalid_field:delay'],
    ['a CloudEvent of another version', { ...cloudEvent, specversion: '0.3' }, 'invalid_field:specversion'],
    ['a CloudEvent without source', { ...cloudEvent, source: undefined }, 'invalid_field:source'],
    ['a CloudEvent without id', { ...cloudEvent, id: undefined }, 'invalid_field:id'],
    [
      'a CloudEvent with an invalid date',
      { ...cloudEvent, time: '2018-02-30T00:00:00Z' },
      'invalid_field:time',
    ],
    [
      'a CloudEvent with data and data_base64',
      { ...cloudEvent, data_base64: 'AAEC' },
      'invalid_field:data_base64',
    ],
    [
      'bytes that are not base64',
      { ...cloudEvent, data: undefined, data_base64: '*' },
      'invalid_field:data_base64',
    ],
    [
      'an event whose detail-type is not text',
      { ...eventBridgeEvent, 'detail-type': 1 },
      'invalid_field:detail-type',
    ],
    ['an event with an invalid time', { ...eventBridgeEvent, time: 'noon' }, 'invalid_field:time'],
    [
      'a notification whose Message is not text',
      { ...notification('x'), Message: 1 },
      'invalid_field:Message',
    ],
    [
      'a notification with an invalid time',
      { ...notification('x'), Timestamp: 1 },
      'invalid_field:Timestamp',
    ],
    ['a faulty envelope inside a notification', notification({ ...own, ttl: 'x' }), 'invalid_field:ttl'],
  ])('for %s', (_name, body, reason) => {
    expect(parse(body)).toEqual({ ok: false, reason });
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
