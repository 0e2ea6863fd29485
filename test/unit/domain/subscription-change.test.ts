import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { describe, expect, it } from 'vitest';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';

const failing = { since: 1, failures: 3 };
const disabled = { reason: 'gone', at: 1 } as const;
const unhealthy = aSubscription({ failing, disabled });

describe('a subscription', () => {
  it('loses its failure history when it is enabled', () => {
    expect(asEnabled(unhealthy, SOME_TIME)).toEqual(aSubscription({ changedAt: SOME_TIME }));
  });

  it('gets a new changedAt even if it was enabled before', () => {
    expect(asEnabled(aSubscription(), SOME_TIME)).toEqual(aSubscription({ changedAt: SOME_TIME }));
  });

  it('with another subscriber loses its failure history and stays disabled', () => {
    expect(moveTo(parseDestination('https://other.test/'), unhealthy, SOME_TIME)).toEqual(
      aSubscription({ subscriber: 'https://other.test/', changedAt: SOME_TIME, disabled }),
    );
  });

  it('keeps its history with another spelling of the same subscriber', () => {
    const destination = parseDestination(SUBSCRIBER_URL.toUpperCase().replace('/HOOK', '/hook'));
    expect(moveTo(destination, unhealthy, SOME_TIME)).toEqual({ ...unhealthy, destination });
  });

  it('gets an increasing changedAt, even if the clock stands still or goes back', () => {
    const once = asEnabled(unhealthy, SOME_TIME);
    const twice = moveTo(parseDestination('https://other.test/'), once, SOME_TIME);
    expect(twice.changedAt).toBe(SOME_TIME + 1);
    expect(asEnabled(twice, SOME_TIME - 5_000).changedAt).toBe(SOME_TIME + 2);
  });
});
