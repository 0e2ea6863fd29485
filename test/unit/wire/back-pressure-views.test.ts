import { describe, expect, it } from 'vitest';
import type { Pressure } from '../../../shared/domain/subscription/subscription.ts';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { deliverySummary } from '../../../shared/wire/views/delivery-summary.ts';
import { deliveryView } from '../../../shared/wire/views/delivery.ts';
import { aSubscription } from '../../support/builders.ts';
import { aDelivery, SOME_TIME } from '../../support/delivery-builders.ts';

const NOW = SOME_TIME;
const text = (ms: number): string => new Date(NOW + ms).toISOString();

const pressed = (pressure: Partial<Pressure>, max_per_second = 1_000) =>
  subscriptionView(
    aSubscription({
      options: { max_per_second },
      pressure: { reason: 'receiver_throttled', since: NOW - 5_000, at: NOW, opensAt: NOW, ...pressure },
    }),
    NOW,
  ).backPressure;

describe('the view of a subscription', () => {
  it('has no back-pressure while its subscriber takes all requests, and after an episode', () => {
    expect(subscriptionView(aSubscription(), NOW)).not.toHaveProperty('backPressure');
    expect(pressed({ perSecond: 4, ended: true })).toBeUndefined();
    expect(pressed({ perSecond: 4, opensAt: NOW - 600_000 })).toBeUndefined();
  });

  it('says until when no request starts, and the rate', () => {
    const since = text(-5_000);
    expect(pressed({ perSecond: 4, learned: true, opensAt: NOW + 2_000 })).toEqual({
      reason: 'receiver_throttled',
      since,
      until: text(2_000),
      perSecond: 4,
    });
    expect(pressed({ perSecond: 4, learned: true })).not.toHaveProperty('until');
    expect(pressed({ reason: 'circuit_open' })).toEqual({ reason: 'circuit_open', since });
  });

  it('has the rate as it is now, which max_per_second bounds', () => {
    expect(pressed({ perSecond: 2, learned: true, opensAt: NOW - 180_000 })?.perSecond).toBe(4);
    expect(pressed({ perSecond: 8, learned: true }, 2)?.perSecond).toBe(2);
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
