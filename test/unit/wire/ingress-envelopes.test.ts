import { describe, expect, it } from 'vitest';
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
