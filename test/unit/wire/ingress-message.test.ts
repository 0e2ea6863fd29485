import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messageIdOf } from '../../../shared/domain/message/message.ts';
import {
  cloudEvent,
  eventBridgeEvent,
  notification,
  parse,
  plain,
  SENT_AT,
  TOPIC,
} from './ingress-samples.ts';
import { jsonText } from './json-text.ts';

describe('the trace of a message', () => {
  const [one, other] = ['a', 'b'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);
  if (one === undefined || other === undefined) throw new Error('No traces');
  const traceOf = (...[body, attributes]: Parameters<typeof parse>) => {
    const parsed = parse(body, attributes);
    return parsed.ok ? parsed.message.trace : parsed.reason;
  };
  const own = { queue: 'orders', data: 1 };

  it('comes from the attributes of SQS or SNS', () => {
    const attributes = { traceparent: one, tracestate: 'a=1' };
    expect(traceOf(own, attributes)).toEqual(attributes);
    const MessageAttributes = { traceparent: { Type: 'String', Value: one } };
    expect(traceOf(notification(own, { MessageAttributes }))).toEqual({ traceparent: one });
  });

  it('comes from a CloudEvent otherwise', () => {
    const event = { ...cloudEvent, queue: 'orders', traceparent: other, tracestate: 'b=1' };
    expect(traceOf(event)).toEqual({ traceparent: other, tracestate: 'b=1' });
    expect(traceOf(event, { traceparent: one })).toEqual({ traceparent: one });
    const binary = { specversion: '1.0', id: 'i', source: 's', type: 't', traceparent: other };
    const attributes = Object.fromEntries(
      Object.entries(binary).map(([name, value]) => [`ce-${name}`, value]),
    );
    expect(traceOf(1, { ...attributes, queue: 'orders' })).toEqual({ traceparent: other });
  });

  it('is dropped if it is malformed, and the message is accepted', () => {
    expect(traceOf(own, { traceparent: 'x', tracestate: 'a=1' })).toBeUndefined();
    expect(traceOf({ ...cloudEvent, queue: 'orders', traceparent: 7 })).toBeUndefined();
  });
});

describe("Posthaste's envelope", () => {
  it('is parsed with queue, id, type, data, ttl and delay', () => {
    const body = { queue: 'orders', id: 'order-1', type: 'order.paid', data: { n: 1 }, ttl: 60, delay: 900 };
    expect(parse(body)).toEqual({
      ok: true,
      delaySeconds: 900,
      message: { ...plain, id: 'order-1', type: 'order.paid', data: '{"n":1}', expiresAt: SENT_AT + 60_000 },
    });
  });

  it('requires only queue and data', () => {
    expect(parse({ queue: 'orders', data: null })).toEqual({ ok: true, message: { ...plain, data: 'null' } });
  });

  it('keeps its data byte for byte', () => {
    fc.assert(
      fc.property(jsonText, (data) => {
        const parsed = parse(`{"data":0, "queue":"orders","data" : ${data} }`);
        expect(parsed).toEqual({ ok: true, message: { ...plain, data } });
      }),
      { numRuns: 300 },
    );
  });

  it('may have other fields, which are ignored', () => {
    const body = { queue: 'orders', data: 1, timestamp: 5, trace: { data: 2 } };
    expect(parse(body)).toEqual({ ok: true, message: { ...plain, data: '1' } });
  });

  it('has an unsafe id hashed and kept as originalId', () => {
    const id = 'order/1#é';
    expect(parse({ queue: 'orders', id, data: 1 })).toMatchObject({
      message: { id: messageIdOf({ id }).id, originalId: id },
    });
  });

  it('accepts a delay of 0', () => {
    expect(parse({ queue: 'orders', data: 1, delay: 0 })).toMatchObject({ ok: true, delaySeconds: 0 });
  });
});

describe('a message with the SQS attribute queue', () => {
  it.each([
    ['an object', '{"b":2,  "a":1}'],
    ['an array', '[1,2]'],
    ['a string', '"text"'],
    ['a number', '12345678901234567890'],
    ['null', 'null'],
  ])('is data as a whole: %s', (_name, body) => {
    expect(parse(` ${body}\n`, { queue: 'orders' })).toEqual({ ok: true, message: { ...plain, data: body } });
  });

  it("is Posthaste's envelope if it has data, despite other keys", () => {
    const body = '{"id":"own","data":{"x":1},"color":"red"}';
    expect(parse(body, { queue: 'orders' })).toMatchObject({ message: { id: 'own', data: '{"x":1}' } });
  });

  it("is parsed as Posthaste's envelope with its other keys", () => {
    expect(parse({ data: [1], id: 'a', type: 't' }, { queue: 'orders' })).toMatchObject({
      message: { queue: 'orders', id: 'a', type: 't', data: '[1]' },
    });
  });

  it('goes to that queue, even if the envelope names another', () => {
    const attributes = { queue: 'orders' };
    const routes = { 'aws.ec2': 'routed', [TOPIC]: 'routed' };
    const bodies = [
      { queue: 'other', data: 1 },
      { ...cloudEvent, queue: 'other' },
      eventBridgeEvent,
      notification('x'),
    ];
    for (const body of bodies)
      expect(parse(body, attributes, routes)).toMatchObject({ message: { queue: 'orders' } });
  });
});

describe('a redriven message', () => {
  it('keeps its original SQS id', () => {
    expect(parse({ queue: 'orders', data: 1 }, { 'posthaste-id': 'first-life' })).toMatchObject({
      message: { id: 'first-life' },
    });
  });

  it("keeps the producer's id in its body", () => {
    const parsed = parse({ queue: 'orders', id: 'own', data: 1 }, { 'posthaste-id': 'first-life' });
    expect(parsed).toMatchObject({ ok: true, message: { id: 'own' } });
    expect(parsed).not.toHaveProperty('message.originalId');
  });

  it('has an unsafe id hashed', () => {
    const parsed = parse({ queue: 'orders', data: 1 }, { 'posthaste-id': 'a#b' });
    expect(parsed).toMatchObject({ message: messageIdOf({ id: 'a#b' }) });
  });
});
