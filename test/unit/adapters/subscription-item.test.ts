import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  queueItemOf,
  queueOf,
  subscriberItemOf,
  subscriptionItemOf,
  subscriptionOf,
} from '../../../shared/adapters/dynamodb/subscription-item.ts';
import { UnreadableRecordError } from '../../../shared/adapters/dynamodb/record.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';

describe('the items of queues and subscriptions', () => {
  it('keep any JSON in the metadata', () => {
    // JSON does not distinguish 0 and -0.
    const metadata = fc.dictionary(fc.string(), fc.jsonValue({ stringUnit: 'grapheme' }));
    const asJson = z.record(z.string(), z.unknown());
    fc.assert(
      fc.property(metadata, (given) => {
        const plain = aQueue({ metadata: asJson.parse(JSON.parse(JSON.stringify(given))) });
        expect(queueOf(queueItemOf(plain))).toEqual(plain);
      }),
    );
  });

  it('keep options of a later version', () => {
    const options = { raw_delivery: true, later: { any: ['thing'] } };
    expect(subscriptionOf(subscriptionItemOf(aSubscription({ options }))).options).toEqual(options);
  });

  it('keep the previous filter with any property names', () => {
    const filter: unknown = JSON.parse('{"": [1.5e300], "__proto__": {"deep": [{"exists": false}]}}');
    const previousSelection = { event_types: ['a'], filter, until: 7 };
    const read = subscriptionOf(subscriptionItemOf(aSubscription({ previousSelection, confirmedAt: 5 })));
    expect(JSON.stringify(read.previousSelection)).toBe(JSON.stringify(previousSelection));
    expect(read.confirmedAt).toBe(5);
  });

  it('keep the time of the last change of the limit', () => {
    expect(subscriptionOf(subscriptionItemOf(aSubscription({ rateChangedAt: 6 }))).rateChangedAt).toBe(6);
  });

  it('keep the failure streak and the time of the last change', () => {
    const failing = { since: 1, failures: 21, countedAt: 2 };
    const subscription = aSubscription({ failing, version: 3 });
    expect(subscriptionOf(subscriptionItemOf(subscription))).toEqual(subscription);
  });

  it('keep the public key of a secret', () => {
    const secrets = [{ sealed: 'a', publicKey: 'whpk_b', expiresAt: 5 }, { sealed: 'c' }];
    expect(subscriptionOf(subscriptionItemOf(aSubscription({ secrets }))).secrets).toEqual(secrets);
  });

  const slowed = { type: 'subscription.slowed', reason: 'circuit_open', since: 1, until: 9 } as const;

  it('keep the pressure and its event', () => {
    const pressure = {
      state: 'slowed',
      perSecond: 0.5,
      line: 2,
      askAgainMs: 10_000,
      since: 1,
      at: 2,
    } as const;
    const subscription = aSubscription({ pressure, unsent: { event: slowed, at: 4 } });
    expect(subscriptionOf(subscriptionItemOf(subscription))).toEqual(subscription);
  });

  it.each([
    [{ ended: true }, { state: 'ended', since: 1, at: 2 }],
    [{ perSecond: 2 }, { state: 'ending', reason: 'circuit_open', since: 1, at: 2 }],
    [{ state: 'of a later version' }, { state: 'ended', since: 1, at: 2 }],
  ])('read the pressure of other versions: %o', (more, expected) => {
    const item = subscriptionItemOf(aSubscription());
    const pressure = {
      ...('state' in more ? {} : { reason: 'circuit_open', opensAt: 3 }),
      since: 1,
      at: 2,
      ...more,
    };
    expect(subscriptionOf({ ...item, pressure }).pressure).toEqual(expected);
  });

  it('have the events that version 0.1.0 does not know in an attribute that it ignores', () => {
    const item = subscriptionItemOf(aSubscription({ unsent: { event: slowed, at: 4 } }));
    expect(item).toMatchObject({ unsentEvent: { event: slowed } });
    expect(item).not.toHaveProperty('unsent');
  });

  it('have the reason that version 0.1.0 does not know under one that it can read', () => {
    const subscription = aSubscription({ disabled: { reason: 'disable_requested', at: 4 } });
    const item = subscriptionItemOf(subscription);
    expect(item).toMatchObject({ disabled: { reason: 'gone', at: 4 } });
    expect(subscriptionOf(item)).toEqual(subscription);
  });

  it('send the event of version 0.1.0 first if both versions wrote one', () => {
    const item = subscriptionItemOf(aSubscription({ unsent: { event: slowed, at: 4 } }));
    const unsent = { event: { type: 'subscription.recovered', since: 1, at: 2 }, at: 2 } as const;
    expect(subscriptionOf({ ...item, unsent }).unsent).toEqual(unsent);
  });

  it('are read without the reason and the event that a later version wrote', () => {
    const later = { reason: 'later', since: 1, at: 2, opensAt: 3 };
    const event = { event: { ...slowed, reason: 'later' }, at: 4 };
    const subscription = aSubscription();
    const item = { ...subscriptionItemOf(subscription), pressure: later, unsentEvent: event };
    expect(subscriptionOf(item)).toStrictEqual({
      ...subscription,
      pressure: { state: 'ended', since: 1, at: 2 },
    });
  });

  it('have a TTL if a subscription expires, including its claim', () => {
    const expiring = aSubscription({ ttl: 60, expiresAt: 60_001 });
    expect(subscriptionItemOf(expiring)['ttl']).toBe(61);
    expect(subscriberItemOf(expiring)['ttl']).toBe(61);
    expect(subscriptionOf(subscriptionItemOf(expiring)).ttl).toBe(60);
  });

  it('have no TTL if the subscription does not expire', () => {
    expect(subscriptionItemOf(aSubscription())).not.toHaveProperty('ttl');
    expect(subscriberItemOf(aSubscription())).not.toHaveProperty('ttl');
  });

  it('do not contain the URL of a subscriber in a key', () => {
    const { pk, sk } = subscriberItemOf(aSubscription({ subscriber: 'https://user:secret@s.test/' }));
    expect(pk).toBe('QUEUE#orders');
    expect(sk).toMatch(/^URL#[A-Za-z0-9_-]{43}$/);
  });

  it.each([
    ['of another version', { v: 2 }],
    ['with metadata that is not JSON', { metadata: '{' }],
    ['with metadata that is not an object', { metadata: '[1]' }],
  ])('are rejected %s', (_, change) => {
    expect(() => queueOf({ ...queueItemOf(aQueue()), ...change })).toThrow(UnreadableRecordError);
  });
});
