import { describe, expect, it } from 'vitest';
import type { PressureState } from '../../../shared/domain/subscription/subscription.ts';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { deliverySummary, deliveryView } from '../../../shared/wire/views/delivery.ts';
import { aSlowed, under } from '../../support/pressure.ts';
import { aDelivery, SOME_TIME } from '../../support/delivery-builders.ts';

const NOW = SOME_TIME;
const text = (ms: number): string => new Date(NOW + ms).toISOString();

const viewOf = (state: PressureState, max_per_second = 1_000) =>
  subscriptionView(under(state, { options: { max_per_second } }), NOW).backPressure;

describe('the view of a subscription', () => {
  it.each([
    { state: 'watched' },
    { state: 'ended' },
    { state: 'ending', reason: 'circuit_open' },
    { state: 'ramping', line: NOW - 600_000 },
  ] as const)('has no back-pressure while no delivery waits: %o', (state) => {
    expect(viewOf(state)).toBeUndefined();
  });

  it('says why and since when deliveries wait, and the rate, which max_per_second bounds', () => {
    const since = text(0);
    const throttled = { reason: 'receiver_throttled', since };
    expect(viewOf(aSlowed())).toEqual({ ...throttled, perSecond: 4 });
    expect(viewOf(aSlowed(), 2)).toEqual({ ...throttled, perSecond: 2 });
    expect(viewOf({ state: 'held' })).toEqual({ reason: 'circuit_open', since });
    expect(viewOf({ state: 'ramping', line: NOW - 4_000 })).toEqual({
      reason: 'circuit_open',
      since,
      perSecond: 40,
    });
  });
});

describe('the view of a delivery', () => {
  const next = { number: 1, phase: 'initial', dueAt: NOW, by: 'sqs_delay' } as const;

  it.each([
    [undefined, 'rate_limited'],
    ['receiver_throttled', 'receiver_throttled'],
    ['circuit_open', 'circuit_open'],
  ] as const)('says why it waits: slot of %s', (reason, waiting) => {
    const slot = { at: NOW + 750, epoch: 'e', ...(reason && { reason }) };
    const delivery = aDelivery({ status: 'pending', next, slot });
    expect(deliveryView(delivery).nextAttempt).toMatchObject({ waiting, dueAt: text(750) });
    expect(deliverySummary(delivery)).toMatchObject({ waiting, nextAttemptAt: text(750) });
  });

  it('says nothing of that while it only waits for its due time', () => {
    expect(deliveryView(aDelivery({ next })).nextAttempt).not.toHaveProperty('waiting');
  });
});
