import { describe, expect, it } from 'vitest';
import type { DeadLetter, DeadLetterAttributes } from '../../../shared/domain/delivery/dead-letter.ts';
import type { ChunkJob, DeliveryJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import type { Operation } from '../../../shared/domain/recovery/operation.ts';
import {
  readDeliveryDeadLetter,
  readIngressDeadLetter,
  readOperationDeadLetter,
} from '../../../shared/wire/jobs/dead-letter.ts';
import { encodeOperation } from '../../../shared/wire/jobs/operation.ts';
import { encodeFirstJob, encodeWakeUp } from '../../../shared/wire/jobs/delivery-job.ts';
import { aMessage } from '../../support/builders.ts';

const aLetter = (fields: Partial<DeadLetter> = {}): DeadLetter => ({
  id: 'sqs-1',
  sentAt: 1,
  receipt: 'receipt',
  body: '{"queue":"orders","data":1}',
  attributes: {},
  ...fields,
});

const text = (value: string) => ({ type: 'String', text: value });
const attributesNamed = (...names: string[]): DeadLetterAttributes =>
  Object.fromEntries(names.map((name) => [name, text(name)]));

const key = { queue: 'orders', messageId: 'm', subscriptionId: 's-1', bucket: 0 };
const job: DeliveryJob = {
  kind: 'job',
  key,
  attempt: 1,
  acceptedAt: 1,
  body: { kind: 'inline', message: aMessage() },
};
const chunk: ChunkJob = {
  kind: 'chunk',
  key: { queue: 'orders', messageId: 'm', bucket: 0, chunk: 1 },
  subscriptionIds: ['s-1', 's-2'],
  acceptedAt: 1,
  body: job.body,
};
const wakeUp: WakeUp = { kind: 'wake_up', key, attempt: 2, dueAt: 5, by: 'scheduler' };

const redriven = (reading: ReturnType<typeof readIngressDeadLetter>) => {
  if (reading.kind === 'skip') throw new Error(`skipped: ${reading.reason}`);
  return reading;
};

describe('a dead letter of the ingress queue', () => {
  it('goes back verbatim, JSON or not, in its group', () => {
    const body = '{"queue": "orders",  "data": ';
    const { message } = redriven(readIngressDeadLetter(aLetter({ body, group: 'tenant' })));
    expect(message).toMatchObject({ to: 'ingress', body, group: 'tenant' });
  });

  it('takes the id along that SQS gave it, since that may be the id of the message', () => {
    const { message, identity } = redriven(readIngressDeadLetter(aLetter()));
    expect(message.attributes).toEqual({ 'posthaste-id': text('sqs-1') });
    expect(identity).toBe('sqs-1');
  });

  it('keeps the id of its first life and its own attributes with their types, and loses the reason', () => {
    const attributes = {
      'posthaste-id': text('first-life'),
      reason: text('unknown_queue'),
      queue: text('orders'),
      count: { type: 'Number', text: '3' },
      picture: { type: 'Binary.png', bytes: Uint8Array.of(1, 2) },
    };
    const { message, identity } = redriven(readIngressDeadLetter(aLetter({ attributes })));
    const { reason, ...others } = attributes;
    expect(message.attributes).toEqual(others);
    expect(reason.text).toBe('unknown_queue');
    expect(identity).toBe('first-life');
  });

  it('has ten attributes at most, and gives up one that dispatch does not read', () => {
    const names = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8', 'a9', 'queue'];
    const { message } = redriven(readIngressDeadLetter(aLetter({ attributes: attributesNamed(...names) })));
    const kept = attributesNamed(...names.filter((name) => name !== 'a9'));
    expect(message.attributes).toEqual({ ...kept, 'posthaste-id': text('sqs-1') });
  });

  it('is skipped when there is no room left for its id', () => {
    const overhead = 'posthaste-idStringsqs-1'.length;
    const fits = aLetter({ body: 'x'.repeat(1024 * 1024 - overhead) });
    expect(readIngressDeadLetter(fits).kind).toBe('redrive');
    expect(readIngressDeadLetter({ ...fits, body: `${fits.body}x` })).toEqual({
      kind: 'skip',
      reason: 'too_large',
    });
  });
});

describe('a dead letter of the delivery and the retry queue', () => {
  it.each([
    { what: 'job', body: encodeFirstJob(job), to: 'delivery' },
    { what: 'wake-up', body: encodeWakeUp(wakeUp), to: 'retry' },
  ])(
    'goes to the $to queue when it is a $what, without attributes, in the group of its subscription',
    ({ body, to }) => {
      const letter = aLetter({ body, attributes: attributesNamed('reason', 'posthaste-id') });
      expect(redriven(readDeliveryDeadLetter(letter)).message).toEqual({
        to,
        body,
        attributes: {},
        group: 's-1',
      });
    },
  );

  it('goes to the delivery queue when it is a job for a chunk, in the group of its queue', () => {
    const body = encodeFirstJob(chunk);
    const letter = aLetter({ body, attributes: attributesNamed('reason', 'posthaste-id') });
    expect(redriven(readDeliveryDeadLetter(letter)).message).toEqual({
      to: 'delivery',
      body,
      attributes: {},
      group: 'orders',
    });
  });

  it('is the same one under another id of SQS, and another one for another attempt, subscription or chunk', () => {
    const identityOf = (body: string, id = 'sqs-1') =>
      redriven(readDeliveryDeadLetter(aLetter({ body, id }))).identity;
    const others = [
      encodeFirstJob(job),
      encodeWakeUp(wakeUp),
      encodeWakeUp({ ...wakeUp, attempt: 3 }),
      encodeWakeUp({ ...wakeUp, key: { ...key, subscriptionId: 's-2' } }),
      encodeFirstJob(chunk),
      encodeFirstJob({ ...chunk, key: { ...chunk.key, messageId: 'm-2' } }),
      encodeFirstJob({ ...chunk, key: { ...chunk.key, bucket: 1 } }),
      encodeFirstJob({ ...chunk, key: { ...chunk.key, chunk: 2 } }),
      // A copy that names others has something else to do.
      encodeFirstJob({ ...chunk, subscriptionIds: ['s-1', 's-3'] }),
    ];
    for (const body of [encodeWakeUp(wakeUp), encodeFirstJob(chunk)])
      expect(identityOf(body, 'sqs-2')).toBe(identityOf(body));
    expect(new Set(others.map((body) => identityOf(body))).size).toBe(others.length);
  });

  it.each([
    ['not_json', 'oops'],
    ['unknown_kind', '{"v":1,"kind":"parcel"}'],
    ['unknown_version', '{"v":9,"kind":"job"}'],
  ])('is skipped as %s when deliver could not read it', (reason, body) => {
    expect(readDeliveryDeadLetter(aLetter({ body }))).toEqual({ kind: 'skip', reason });
  });
});

describe('a dead letter of the operation queue', () => {
  const order = { kind: 'cancellation', queue: 'orders', deletedAt: 1, cursor: 'page-7' } as const;

  it('goes back as it came, without what was put on it when it was dead-lettered', () => {
    const body = encodeOperation(order);
    const letter = aLetter({ body, attributes: attributesNamed('reason') });
    expect(redriven(readOperationDeadLetter(letter)).message).toEqual({
      to: 'operation',
      body,
      attributes: {},
    });
  });

  it('is the same one under another id of SQS, and another one at another page or of another order', () => {
    const identityOf = (operation: Operation, id = 'sqs-1') =>
      redriven(readOperationDeadLetter(aLetter({ body: encodeOperation(operation), id }))).identity;
    const recovery = { kind: 'recovery', queue: 'orders', recoveryId: 'r-1', orderedAt: 1 } as const;
    const others: Operation[] = [
      order,
      { ...order, cursor: 'page-8' },
      { ...order, queue: 'bills' },
      recovery,
    ];
    expect(identityOf(order, 'sqs-2')).toBe(identityOf(order));
    expect(new Set(others.map((other) => identityOf(other))).size).toBe(others.length);
  });

  it.each([
    ['not_json', 'oops'],
    ['unknown_kind', '{"v":1,"kind":"parcel"}'],
    ['unknown_version', '{"v":9,"kind":"recovery"}'],
  ])('is skipped as %s when operate could not read it', (reason, body) => {
    expect(readOperationDeadLetter(aLetter({ body }))).toEqual({ kind: 'skip', reason });
  });
});
