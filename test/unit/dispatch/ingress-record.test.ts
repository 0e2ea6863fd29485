import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it } from 'vitest';
import { dispatchRecord, withReferencedData } from '../../../functions/dispatch/ingress-record.ts';
import type { DataReference } from '../../../shared/domain/message/data-reference.ts';
import { versionOf } from '../../../shared/domain/message/version.ts';
import { subscriberOf } from '../../../shared/domain/subscription/destination.ts';
import type { ParsedIngress } from '../../../shared/wire/ingress/message.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { inMemoryReferencedData } from '../../support/in-memory/in-memory-referenced-data.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const SUBSCRIBER = 'https://subscriber.test/hook';
const dataRef = { bucket: 'producer', key: 'webhooks/17.json' };
const data = '{"b": 12345678901234567890,  "a": "\\u00e9"}';
const head = { queue: 'orders', id: 'message-1', timestamp: '2026-01-01T00:00:00.000Z' };

let world: PipelineWorld;
let objects: ReturnType<typeof inMemoryReferencedData>;

beforeEach(async () => {
  world = pipelineWorld();
  objects = inMemoryReferencedData();
  await world.subscriptions.putQueue(aQueue());
  await world.subscriptions.addSubscription(
    aSubscription({ options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) } }),
  );
});

const read = (reading: ParsedIngress) =>
  withReferencedData(
    {
      ports: { ...world, referencedData: objects },
      settings: {
        payloadSources: [
          { bucket: 'producer', prefix: 'webhooks/', owner: objects.owner },
          { bucket: 'other-account', prefix: '', owner: '999900001111' },
        ],
      },
    },
    reading,
  );

/** Like dispatch's handler. */
const accept = async (reference: DataReference = dataRef): Promise<void> => {
  const version = versionOf({ data: reference });
  await world.dispatch(
    await read({ ok: true, message: head, dataRef: reference, version }),
    'the very bytes',
  );
};

const sentBodies = (): string[] => world.subscriber.seen.map(({ request }) => request.body);

describe('a message that references its data', () => {
  it('is delivered and retried with the bytes of the object, even if that is deleted after acceptance', async () => {
    objects.put(dataRef, Buffer.from(data));
    world.subscriber.script(SUBSCRIBER, [status(500), status(200)]);
    await accept();
    objects.remove(dataRef);
    await world.clock.run();

    expect(sentBodies()).toHaveLength(2);
    for (const body of sentBodies()) expect(body.endsWith(`"data":${data}}`)).toBe(true);
    expect(await world.delivery()).toMatchObject({ status: 'delivered' });
  });

  it.each([
    { size: 5_000, kind: 'inline' },
    { size: 10_000, kind: 'stored' },
    { size: 1_000_000, kind: 'stored' },
  ])('is stored from the start: $size bytes $kind', async ({ size, kind }) => {
    objects.put(dataRef, Buffer.from(`"${'x'.repeat(size)}"`));
    await accept();

    expect(await world.messageRecords.find({ queue: 'orders', messageId: head.id })).toMatchObject({
      body: { kind },
    });
  });

  it.each([5_000, 100_000])(
    'of %i bytes is completed by a redelivery after a crash, although the object was deleted',
    async (size) => {
      const large = `"${'x'.repeat(size)}"`;
      objects.put(dataRef, Buffer.from(large));
      const { deliveryQueue } = world.dispatchContext.ports;
      world.dispatchContext.ports.deliveryQueue = { send: () => Promise.reject(new Error('crash')) };
      await expect(accept()).rejects.toThrow('crash');
      world.dispatchContext.ports.deliveryQueue = deliveryQueue;
      objects.remove(dataRef);
      await accept();
      await world.clock.run();

      expect(sentBodies().map((body) => body.endsWith(`"data":${large}}`))).toEqual([true]);
      expect(world.deadLetters.sent).toEqual([]);
    },
  );

  it.each([5_000, 100_000])(
    'of %i bytes is completed after a crash with the accepted data, although the object changed',
    async (size) => {
      const accepted = `"${'x'.repeat(size)}"`;
      objects.put(dataRef, Buffer.from(accepted));
      const { deliveryQueue } = world.dispatchContext.ports;
      world.dispatchContext.ports.deliveryQueue = { send: () => Promise.reject(new Error('crash')) };
      await expect(accept()).rejects.toThrow('crash');
      world.dispatchContext.ports.deliveryQueue = deliveryQueue;
      objects.put(dataRef, Buffer.from(`"${'y'.repeat(size)}"`));
      await accept();
      await world.clock.run();

      expect(sentBodies().map((body) => body.endsWith(`"data":${accepted}}`))).toEqual([true]);
    },
  );

  it('is completed for the subscriptions that matched the accepted data, although the object changed', async () => {
    await world.subscriptions.addSubscription(
      aSubscription({ id: 'choosy', subscriber: 'https://choosy.test/', options: { filter: { n: [1] } } }),
    );
    objects.put(dataRef, Buffer.from('{"n":1}'));
    const { deliveryQueue } = world.dispatchContext.ports;
    world.dispatchContext.ports.deliveryQueue = { send: () => Promise.reject(new Error('crash')) };
    await expect(accept()).rejects.toThrow('crash');
    world.dispatchContext.ports.deliveryQueue = deliveryQueue;
    objects.put(dataRef, Buffer.from('{"n":2}'));
    await accept();
    await world.clock.run();

    expect(world.subscriber.seen.map(({ request }) => request.url)).toContain('https://choosy.test/');
  });

  it('is dead-lettered if its object is missing and another version is stored under its id', async () => {
    objects.put(dataRef, Buffer.from(data));
    await accept();
    await accept({ bucket: 'producer', key: 'webhooks/gone.json' });

    expect(world.deadLetters.sent).toMatchObject([{ reason: 'data_ref_missing' }]);
  });

  it.each<[string, string | undefined, DataReference]>([
    ['data_ref_missing', undefined, dataRef],
    ['data_ref_not_json', 'hello', dataRef],
    ['data_ref_too_large', `"${'x'.repeat(1024 * 1024)}"`, dataRef],
    ['data_ref_denied', '1', { bucket: 'other-account', key: 'a' }],
  ])('is dead-lettered unchanged if its data cannot be read: %s', async (reason, content, reference) => {
    if (content !== undefined) objects.put(reference, Buffer.from(content));
    await accept(reference);

    expect(world.deadLetters.sent).toMatchObject([{ body: 'the very bytes', reason }]);
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('is redelivered if reading the object fails transiently', async () => {
    objects.read = () => Promise.reject(new Error('SlowDown'));

    await expect(accept()).rejects.toThrow('SlowDown');
    expect(world.deadLetters.sent).toEqual([]);
  });
});

describe('a reference', () => {
  it.each<[string, DataReference]>([
    ['to a bucket that is not a source', { bucket: 'producer2', key: 'webhooks/17.json' }],
    ['to a bucket whose name is a prefix of a source', { bucket: 'produce', key: 'webhooks/17.json' }],
    ['to a key outside the prefix', { bucket: 'producer', key: 'private/17.json' }],
    ['to a key that contains the prefix elsewhere', { bucket: 'producer', key: 'a/webhooks/17.json' }],
    ['to a key with different case', { bucket: 'producer', key: 'Webhooks/17.json' }],
  ])('%s is never followed', async (_what, reference) => {
    objects.put(reference, Buffer.from(data));
    await accept(reference);

    expect(objects.asked).toEqual([]);
    expect(world.deadLetters.sent).toMatchObject([{ reason: 'data_ref_forbidden' }]);
  });

  it('is absent in a message with inline data, and in a refused one', async () => {
    const inline = { ok: true as const, message: aMessage(), version: 'a version' };
    const refused = { ok: false, reason: 'not_json' } as const;
    expect([await read(inline), await read(refused)]).toEqual([inline, refused]);
    expect(objects.asked).toEqual([]);
  });
});

const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };

const record = (): SQSRecord => ({
  messageId: 'sqs-1',
  receiptHandle: 'handle',
  body: '{"queue": "orders", "id": "message-1", "data": 1}',
  attributes: {
    ApproximateReceiveCount: '1',
    SentTimestamp: '1000',
    SenderId: 'sender',
    ApproximateFirstReceiveTimestamp: '1000',
  },
  messageAttributes: Object.fromEntries(
    Object.entries(trace).map(([name, stringValue]) => [name, { dataType: 'String', stringValue }]),
  ),
  md5OfBody: '',
  eventSource: 'aws:sqs',
  eventSourceARN: 'arn:aws:sqs:eu-central-1:111122223333:ingress',
  awsRegion: 'eu-central-1',
});

/** The headers of the first attempt and of a retry. */
const headersWith = async (tracing: boolean) => {
  const world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
  const subscription = aSubscription({
    options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) },
  });
  await world.subscriptions.addSubscription(subscription);
  world.subscriber.script(subscriberOf(subscription.destination), [status(500), status(200)]);
  const { dispatchContext } = world;
  const context = {
    ...dispatchContext,
    ports: { ...dispatchContext.ports, referencedData: inMemoryReferencedData() },
    settings: { ...dispatchContext.settings, payloadSources: [], ingressRoutes: {}, tracing },
  };
  await dispatchRecord(context, record());
  await world.clock.run();
  return world.subscriber.seen.map(({ request }) => request.headers);
};

describe('the trace of a message', () => {
  it('is in the headers of every attempt with the setting tracing', async () => {
    const [first, retry] = await headersWith(true);
    expect(first).toMatchObject(trace);
    expect(retry).toMatchObject(trace);
  });

  it('is not passed on without the setting', async () => {
    const headers = await headersWith(false);
    expect(headers).toHaveLength(2);
    for (const one of headers) expect(Object.keys(one)).not.toContain('traceparent');
  });
});
