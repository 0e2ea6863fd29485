import { describe, expect, it } from 'vitest';
import { judgeCrash } from '../../../cli/commands/accept/checks/crash.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';

/** The answer that kills. */
const STATUS = 299;

type Variation = { lost?: number; status?: DeliveryView['status']; attempts?: number; answer?: number };

/** A delivery with one attempt on record, and requests at these seconds. */
const delivery = (
  seconds: readonly number[],
  { lost = 0, status = 'delivered', attempts = 1, answer = 200 }: Variation = {},
) => ({
  delivery: {
    messageId: 'm',
    status,
    attempts: Array.from({ length: attempts }, (_, index) => ({
      number: index + 1,
      round: 1,
      phase: 'initial' as const,
      startedAt: new Date(0).toISOString(),
      durationMs: 10,
      outcome: 'delivered' as const,
      ...(lost > 0 && index === 0 && { lost }),
    })),
  },
  seen: seconds.map((second) => ({
    key: 'k',
    messageId: 'm',
    at: second * 1000,
    startedAt: second * 1000,
    signature: 'valid',
    bytes: 1,
    sha256: '',
    status: answer,
  })),
});

const KILLED = delivery([1, 36], { lost: 1, answer: STATUS });

/** Kind, detail and advice. */
const judged = (...all: readonly ReturnType<typeof delivery>[]) =>
  Object.values(judgeCrash(all, 'PosthasteCrash', STATUS)).join('; ');

describe('the check that kills deliver', () => {
  it('passes if all that was held is delivered, with each lost request on record', () => {
    // One of which no request had gone out, one whose record was written before, and one that was not held.
    const all = [KILLED, delivery([36], { lost: 1 }), delivery([0.5]), delivery([2])];
    expect(judged(...all)).toMatch(
      /^passed; all 4 delivered, 1 of them by a second request, the last 35\.5 s after/,
    );
  });

  it.each([
    ['no answer killed', [delivery([1])]],
    ['the answer is on record', [delivery([1], { answer: STATUS }), delivery([2, 37], { lost: 1 })]],
  ])('fails if deliver was not killed: %s', (_, all) => {
    expect(judged(...all)).toMatch(
      /^failed; deliver was not killed by the answer 299: .*; Deploy the stack PosthasteCrash again/,
    );
  });

  it.each([
    ['a delivery of m is pending', delivery([1], { status: 'pending' })],
    ['a delivery of m has 0 attempts on record', delivery([1], { attempts: 0 })],
    ['a delivery of m has 2 attempts on record', delivery([1], { attempts: 2 })],
    ['3 requests arrived of a delivery of m, and 2 are on record', delivery([1, 36, 37], { lost: 1 })],
    ['the last request came 61.0 s after the first', delivery([1, 62], { lost: 1 })],
  ])('fails: %s', (fault, neighbour) => {
    expect(judged(KILLED, neighbour)).toContain(`failed; ${fault}; Keep the logs`);
  });
});
