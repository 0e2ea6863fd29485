import { describe, expect, it } from 'vitest';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';

const failing = { since: 1, failures: 3 };
const disabled = { reason: 'gone', at: 1 } as const;
const ill = aSubscription({ failing, disabled });

describe('a subscription', () => {
  it('that is enabled begins anew, from then on', () => {
    expect(asEnabled(ill, SOME_TIME)).toEqual(aSubscription({ changedAt: SOME_TIME }));
  });

  it('that is enabled already is marked as enabled then all the same', () => {
    expect(asEnabled(aSubscription(), SOME_TIME)).toEqual(aSubscription({ changedAt: SOME_TIME }));
  });

  it('with another subscriber has not failed, from then on, and stays disabled', () => {
    expect(moveTo('https://other.test/', ill, SOME_TIME)).toEqual(
      aSubscription({ subscriber: 'https://other.test/', changedAt: SOME_TIME, disabled }),
    );
  });

  it('with the same subscriber, spelled in another way, is what it was', () => {
    const subscriber = aSubscription().subscriber.toUpperCase().replace('/HOOK', '/hook');
    expect(moveTo(subscriber, ill, SOME_TIME)).toEqual({ ...ill, subscriber });
  });

  it('is changed later each time, though the clock stands or goes back', () => {
    const once = asEnabled(ill, SOME_TIME);
    const twice = moveTo('https://other.test/', once, SOME_TIME);
    expect(twice.changedAt).toBe(SOME_TIME + 1);
    expect(asEnabled(twice, SOME_TIME - 5_000).changedAt).toBe(SOME_TIME + 2);
  });
});
