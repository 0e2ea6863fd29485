import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { outcomesOf, sumOfOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import type { Status } from '../../../shared/domain/delivery/vocabulary.ts';
import { aDelivery, aDeliveryKey, SOME_TIME, type DeliveryFields } from '../../support/delivery-builders.ts';

const reopened = (status: Status, overrides: DeliveryFields = {}, subscriptionId = 's-1'): Delivery =>
  aDelivery({ key: aDeliveryKey({ subscriptionId }), status, recoveries: ['r-1'], ...overrides });

const retrying = (dueAt: number, overrides: DeliveryFields = {}) =>
  reopened('retrying', {
    next: { number: 2, phase: 'backoff', dueAt, by: 'sqs_delay' },
    ...overrides,
  });

const NONE = { total: 0, delivered: 0, failed: 0, open: 0 };

describe('the outcomes of a recovery', () => {
  it.each([
    ['delivered', { delivered: 1 }],
    ['exhausted', { failed: 1 }],
    ['rejected', { failed: 1 }],
    ['cancelled', { failed: 1 }],
    ['retrying', { open: 1, nextAttemptAt: SOME_TIME }],
    ['pending', { open: 1 }],
  ] as const)('count a reopened delivery that is %s as %j', (status, counted) => {
    expect(outcomesOf('r-1', [reopened(status)])).toEqual([
      { subscriptionId: 's-1', ...NONE, total: 1, ...counted },
    ]);
  });

  it('leave out deliveries that another recovery reopened, or none', () => {
    const skipped = reopened('exhausted', { recoveries: [] });
    const later = reopened('delivered', { recoveries: ['r-0', 'r-2'] });
    expect(outcomesOf('r-1', [skipped, later])).toEqual([]);
    expect(outcomesOf('r-0', [skipped, later])).toMatchObject([{ total: 1, delivered: 1 }]);
  });

  it('show the earliest next attempt of the open ones, when its request starts', () => {
    const all = [
      retrying(SOME_TIME + 9),
      retrying(SOME_TIME + 5),
      retrying(SOME_TIME, { slot: { at: SOME_TIME + 7 } }),
      // An ended delivery has no next attempt.
      reopened('cancelled'),
    ];
    expect(outcomesOf('r-1', all)).toEqual([
      { subscriptionId: 's-1', ...NONE, total: 4, failed: 1, open: 3, nextAttemptAt: SOME_TIME + 5 },
    ]);
    expect(outcomesOf('r-1', all.slice(2))).toMatchObject([{ nextAttemptAt: SOME_TIME + 7 }]);
  });

  it('are counted per subscription, and add up over pages', () => {
    const page = outcomesOf('r-1', [
      reopened('delivered'),
      reopened('delivered', {}, 's-2'),
      reopened('exhausted'),
    ]);
    const next = outcomesOf('r-1', [retrying(SOME_TIME), reopened('delivered')]);
    expect(sumOfOutcomes([...page, ...next])).toEqual([
      { subscriptionId: 's-1', total: 4, delivered: 2, failed: 1, open: 1, nextAttemptAt: SOME_TIME },
      { subscriptionId: 's-2', ...NONE, total: 1, delivered: 1 },
    ]);
  });
});
