import { beforeEach, describe, expect, it } from 'vitest';
import { dispatchRecord, withReferencedData } from '../../../functions/dispatch/ingress-record.ts';
import type { DataReference } from '../../../shared/domain/message/data-reference.ts';
import { hashVersion } from '../../../shared/domain/message/version.ts';
import type { ParsedIngress } from '../../../shared/wire/ingress/message.ts';
import { aBarePolicy, aMessage } from '../../support/builders.ts';
import { inMemoryReferencedData } from '../../support/in-memory/in-memory-referenced-data.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';
import { dispatchWorld, type DispatchWorld } from './dispatch-world.ts';

const dataRef = { bucket: 'producer', key: 'webhooks/17.json' };
const data = '{"b": 12345678901234567890,  "a": "\\u00e9"}';
const head = { queue: 'orders', id: 'message-1', timestamp: '2026-01-01T00:00:00.000Z' };

let world: DispatchWorld;
let objects: ReturnType<typeof inMemoryReferencedData>;

/** With one subscription, which retries once. */
beforeEach(async () => {
  world = await dispatchWorld();
  objects = inMemoryReferencedData();
  await world.subscribe('one', { options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) } });
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
  const version = hashVersion({ data: reference });
  await world.dispatch(
    await read({ ok: true, message: head, dataRef: reference, version }),
    'the very bytes',
  );
};

const ofSize = (size: number, letter = 'x') => `"${letter.repeat(size)}"`;

describe('a message that references its data', () => {
  it('is delivered and retried with the bytes of the object, even if that is deleted after acceptance', async () => {
    objects.put(dataRef, Buffer.from(data));
    world.subscriber.script(world.urlOf('one'), [status(500), status(200)]);
    await accept();
    objects.remove(dataRef);
    await world.clock.run();

    expect(world.bodies().map((body) => body.endsWith(`"data":${data}}`))).toEqual([true, true]);
    expect(await world.delivery('one')).toMatchObject({ status: 'delivered' });
  });

  it.each([
    [5_000, 'inline'],
    [10_000, 'stored'],
    [1_000_000, 'stored'],
  ])('is stored from the start: %i bytes %s', async (size, kind) => {
    objects.put(dataRef, Buffer.from(ofSize(size)));
    await accept();

    expect(await world.record()).toMatchObject({ body: { kind } });
  });

  it.each([
    ['was deleted', 5_000, undefined],
    ['was deleted', 100_000, undefined],
    ['changed', 5_000, 'y'],
    ['changed', 100_000, 'y'],
  ])('is completed after a crash although the object %s: %i bytes', async (_, size, letter) => {
    objects.put(dataRef, Buffer.from(ofSize(size)));
    await world.crashBeforeSending(accept);
    if (letter === undefined) objects.remove(dataRef);
    else objects.put(dataRef, Buffer.from(ofSize(size, letter)));
    await accept();
    await world.clock.run();

    expect(world.bodies().map((body) => body.endsWith(`"data":${ofSize(size)}}`))).toEqual([true]);
    expect(world.deadLetters.sent).toEqual([]);
  });

  it('is completed for the subscriptions that matched the accepted data, although the object changed', async () => {
    await world.subscribe('choosy', { options: { filter: { n: [1] } } });
    objects.put(dataRef, Buffer.from('{"n":1}'));
    await world.crashBeforeSending(accept);
    objects.put(dataRef, Buffer.from('{"n":2}'));
    await accept();
    await world.clock.run();

    expect(world.called()).toContain('choosy');
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

describe('the trace of a message', () => {
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };

  it.each([
    ['is in the headers of every attempt with the setting tracing', true, trace],
    ['is not passed on without the setting', false, { traceparent: undefined, tracestate: undefined }],
  ])('%s', async (_, tracing, expected) => {
    world.subscriber.script(world.urlOf('one'), [status(500), status(200)]);
    const { ports, settings, ...context } = world.dispatchContext;
    await dispatchRecord(
      {
        ...context,
        ports: { ...ports, referencedData: objects },
        settings: { ...settings, payloadSources: [], ingressRoutes: {}, tracing },
      },
      {
        ...anSqsRecord('{"queue": "orders", "id": "message-1", "data": 1}'),
        messageAttributes: Object.fromEntries(
          Object.entries(trace).map(([name, stringValue]) => [name, { dataType: 'String', stringValue }]),
        ),
      },
    );
    await world.clock.run();

    expect(
      world.subscriber.seen.map(({ request: { headers } }) => ({
        traceparent: headers['traceparent'],
        tracestate: headers['tracestate'],
      })),
    ).toEqual([expected, expected]);
  });
});
