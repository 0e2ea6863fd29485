import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InvalidMessageError } from '../../../client/errors.ts';
import { encodeMessage } from '../../../client/message.ts';
import { type OutgoingMessage, sqsMessage } from '../../../shared/adapters/sqs/message.ts';
import { parseIngress } from '../../../shared/wire/ingress/message.ts';

type Given = Parameters<typeof encodeMessage>[0];

const anything = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 70 }),
  fc.integer({ min: -1, max: 2 ** 32 }),
  fc.constantFrom(null, '', '\ud800', 1.5, NaN, true, [], {}),
);

/** Mostly right, so that most messages are right or have a single fault. */
const field = (right: readonly unknown[], wrong: readonly unknown[] = []) =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...right) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, ...wrong) },
    { weight: 1, arbitrary: anything },
  );

const longest = 'é'.repeat(512);

const aReference = fc.record(
  {
    bucket: field(['shop']),
    key: field(['orders/1.json', longest], [`${longest}a`]),
    versionId: field(['v1', undefined]),
  },
  { requiredKeys: [] },
);

const someData = fc.oneof(fc.jsonValue(), anything, fc.constantFrom('\ufffe\uffff', { a: undefined }));

const someContent = fc.oneof(
  { weight: 6, arbitrary: fc.record({ data: someData }) },
  { weight: 6, arbitrary: fc.record({ dataRef: aReference }) },
  fc.record({ dataRef: anything }),
  fc.record({ data: someData, dataRef: aReference }),
  fc.constant({}),
);

const someMessage = fc
  .tuple(
    fc.record({
      queue: field(['orders', 'a'.repeat(64)], ['a'.repeat(65), 'a b']),
      id: field([undefined, 'order-17', 'order 17/a', 'Confirm_a'], ['confirm_a']),
      type: field(
        [undefined, 'order.created', 'a'.repeat(256), '😀'.repeat(256)],
        ['a'.repeat(257), '😀'.repeat(257), 'posthaste.subscription_confirmation'],
      ),
      ttl: field([undefined, 1, 2 ** 31 - 1], [0, 2 ** 31]),
      delay: field([undefined, 0, 900], [901]),
    }),
    someContent,
  )
  .map(([head, content]) => ({ ...head, ...content })) as fc.Arbitrary<Given>;

const readByDispatch = (body: string) =>
  parseIngress({ body, sqsMessageId: 'sqs-1', sentAt: 0, attributes: {} }, {});

/** The fields of a message as dispatch reads them. */
const readBack = (sent: OutgoingMessage) => {
  const read = readByDispatch(sqsMessage(sent).MessageBody);
  if (!read.ok) throw new Error(read.reason);
  const { queue, id, originalId = id, type, expiresAt } = read.message;
  return {
    queue,
    id: originalId,
    type,
    ttl: expiresAt === undefined ? undefined : expiresAt / 1000,
    delay: read.delaySeconds,
    ...('dataRef' in read ? { dataRef: read.dataRef } : { data: JSON.parse(read.message.data) as unknown }),
  };
};

const encoded = (message: Given) => {
  try {
    return encodeMessage(message, 0);
  } catch (error) {
    if (error instanceof InvalidMessageError) return undefined;
    throw error;
  }
};

it('accepts what dispatch accepts, and is read back as the same message', () => {
  fc.assert(
    fc.property(someMessage, (message) => {
      const inJson = JSON.stringify(message);
      const sent = encoded(message);
      expect(sent !== undefined).toBe(readByDispatch(inJson).ok);
      if (sent === undefined) return;
      expect(readBack(sent)).toEqual({ id: sent.id, ...JSON.parse(inJson) });
    }),
    { numRuns: 1000 },
  );
});
