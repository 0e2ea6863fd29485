import { describe, expect, it } from 'vitest';
import { enabled, movedTo } from '../../../shared/domain/subscription/change.ts';
import { aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';

const failing = { since: 1, failures: 3 };
const disabled = { reason: 'gone', at: 1 } as const;
const ill = aSubscription({ failing, disabled });

describe('a subscription', () => {
  it('that is enabled begins anew, from then on', () => {
    expect(enabled(ill, SOME_TIME)).toEqual(aSubscription({ changedAt: SOME_TIME }));
  });

  it('that is enabled already is marked as enabled then all the same', () => {
    expect(enabled(aSubscription(), SOME_TIME)).toEqual(aSubscription({ changedAt: SOME_TIME }));
  });

  it('with another subscriber has not failed, from then on, and stays disabled', () => {
    expect(movedTo('https://other.test/', ill, SOME_TIME)).toEqual(
      aSubscription({ subscriber: 'https://other.test/', changedAt: SOME_TIME, disabled }),
    );
  });

  it('with the same subscriber, spelled in another way, is what it was', () => {
    const subscriber = aSubscription().subscriber.toUpperCase().replace('/HOOK', '/hook');
    expect(movedTo(subscriber, ill, SOME_TIME)).toEqual({ ...ill, subscriber });
  });

  it('is changed later each time, though the clock stands or goes back', () => {
    const once = enabled(ill, SOME_TIME);
    const twice = movedTo('https://other.test/', once, SOME_TIME);
    expect(twice.changedAt).toBe(SOME_TIME + 1);
    expect(enabled(twice, SOME_TIME - 5_000).changedAt).toBe(SOME_TIME + 2);
  });
});
