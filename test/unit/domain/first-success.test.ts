import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyToChunk,
  type FirstSuccess,
  recordSuccesses,
  deliveryIn,
  firstSuccessOf,
  MAX_SNIPPET_BYTES,
} from '../../../shared/domain/delivery/chunk.ts';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import { apply, type Delivery, type Transition } from '../../../shared/domain/delivery/delivery.ts';
import {
  cancelLeased,
  recordDelivered,
  recordRejected,
  recordRetry,
  release,
} from '../../../shared/domain/delivery/transitions.ts';
import { aPolicy } from '../../support/builders.ts';
import { aChunk, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { aDelivery, anAttempt, SOME_TIME, answered } from '../../support/delivery-builders.ts';

const at = { now: SOME_TIME + 500, retentionMs: RETENTION_MS };
const chunk = aChunk();

const pending = (): Delivery => {
  const delivery = deliveryIn(chunk, 'a');
  if (delivery === undefined) throw new RangeError('not a member');
  return delivery;
};

const plain = anAttempt({ outcome: 'delivered', result: answered(200) });

const made = (attempt: Attempt) => ({ delivery: pending(), owner: HOLDER.owner, attempt });
const recordOf = (attempt: Attempt): Transition => recordDelivered(made(attempt), at);

const success: fc.Arbitrary<FirstSuccess> = fc.record(
  {
    startedAt: fc.integer({ min: 0, max: 9_999_999_999_999 }),
    durationMs: fc.nat({ max: 600_000 }).map((eighths) => eighths / 8),
    result: fc.record(
      {
        kind: fc.constant('answered' as const),
        statusCode: fc.integer({ min: 200, max: 299 }),
        snippet: fc
          .string({ unit: 'grapheme', maxLength: 40 })
          .filter((text) => Buffer.byteLength(text) <= MAX_SNIPPET_BYTES),
      },
      { noNullPrototype: true, requiredKeys: ['kind', 'statusCode'] },
    ),
  },
  { noNullPrototype: true },
);

describe('the first success in a chunk', () => {
  it('contains the fields of the attempt that its chunk stores', () => {
    expect(firstSuccessOf(recordOf({ ...plain, result: answered(200, 'ok') }))).toEqual({
      startedAt: plain.startedAt,
      durationMs: plain.durationMs,
      result: answered(200, 'ok'),
    });
  });

  it('contains the start of a long response, up to the last whole character', () => {
    const snippetOf = (snippet: string) =>
      firstSuccessOf(recordOf({ ...plain, result: answered(200, snippet) }))?.result.snippet;
    expect(snippetOf('x'.repeat(100))).toBe('x'.repeat(24));
    expect(snippetOf(`${'x'.repeat(23)}é`)).toBe('x'.repeat(23));
    expect(snippetOf('😀'.repeat(7))).toBe('😀'.repeat(6));
  });

  it('gives the same delivery as a separate record if the response is short', () => {
    fc.assert(
      fc.property(success, (one) => {
        const transition = recordOf({ number: 1, round: 1, phase: 'initial', outcome: 'delivered', ...one });
        const recorded = firstSuccessOf(transition);
        expect(recorded).toEqual(one);
        if (recorded === undefined || 'create' in transition) throw new RangeError('not recorded');
        const write = recordSuccesses(
          chunk.key,
          HOLDER.owner,
          { successes: new Map([['a', recorded]]), separate: [], ends: false },
          at,
        );
        expect(deliveryIn(applyToChunk(write, chunk), 'a')).toEqual(apply(transition.change, pending()));
      }),
    );
  });

  it.each<[string, Partial<Attempt>]>([
    ['without an answer', { result: { kind: 'acknowledged' } }],
    ['after a lost attempt', { lost: 1 }],
    ['started by a wake-up', { by: 'sqs_delay' }],
    ['with a due time', { dueAt: SOME_TIME }],
    ['of another round', { round: 2 }],
    ['with another number', { number: 2 }],
    ['in another phase', { phase: 'manual' }],
  ])('is undefined for an attempt %s', (_, more) => {
    expect(firstSuccessOf(recordOf({ ...plain, ...more }))).toBeUndefined();
  });

  it.each<[string, Transition]>([
    [
      'a failure',
      recordRetry(
        made(anAttempt()),
        {
          next: { number: 2, phase: 'immediate', dueAt: at.now, by: 'sqs_delay' },
          policy: aPolicy(),
          lease: undefined,
        },
        at,
      ),
    ],
    [
      'a rejection',
      recordRejected(
        made(anAttempt({ outcome: 'rejected', result: answered(404) })),
        { reply: { kind: 'answered', statusCode: 404 }, policy: aPolicy() },
        at,
      ),
    ],
    [
      'a success that disables its subscription',
      recordDelivered(made(plain), at, { kind: 'answered', statusCode: 200, asks: 'disable' }),
    ],
    ['a cancellation', cancelLeased(pending(), HOLDER.owner, 'disabled', at)],
    ['a release', release(pending(), HOLDER.owner, at)],
    [
      'the creation of a record',
      { name: 'open', key: aDelivery().key, expect: { kind: 'absent' }, create: aDelivery() },
    ],
  ])('is undefined for %s', (_, transition) => {
    expect(firstSuccessOf(transition)).toBeUndefined();
  });
});
