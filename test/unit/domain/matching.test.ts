import { describe, expect, it, vi } from 'vitest';
import {
  matchSubscriptions,
  matchContentOf,
  listedAt,
  UnreadableFilterError,
  withOptions,
} from '../../../shared/domain/message/matching.ts';
import type { Subscription, SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { aSubscription } from '../../support/builders.ts';

const content = matchContentOf({ type: 'order.created', data: '{"total": 5}' });
const acceptance = { acceptedAt: 1000, listedAt: 990 };

const isAddressed = (more: Partial<Subscription>, of = content): boolean =>
  matchSubscriptions([aSubscription(more)], of, acceptance).matching.length === 1;

const isWanted = (options: SubscriptionOptions, of = content): boolean => isAddressed({ options }, of);

describe('matching subscriptions', () => {
  it('includes all subscriptions without options', () => {
    const all = [aSubscription({ id: 'a' }), aSubscription({ id: 'b' })];
    expect(matchSubscriptions(all, content, acceptance)).toEqual({
      matching: all,
      filtered: 0,
      undecided: [],
    });
  });

  it.each<[string, SubscriptionOptions, boolean]>([
    ['of its type', { event_types: ['order.deleted', 'order.created'] }, true],
    ['of another type', { event_types: ['order.deleted'] }, false],
    ['of a longer type', { event_types: ['order.created.late'] }, false],
    ['of the beginning of its type', { event_types: ['order'] }, false],
    ['of its type in capitals', { event_types: ['Order.Created'] }, false],
    ['with its content', { filter: { total: [5] } }, true],
    ['with other content', { filter: { total: [6] } }, false],
    ['of its type with its content', { event_types: ['order.created'], filter: { total: [5] } }, true],
    ['of its type with other content', { event_types: ['order.created'], filter: { total: [6] } }, false],
    ['of another type with its content', { event_types: ['x'], filter: { total: [5] } }, false],
  ])('for messages %s: %j gives %s', (_what, options, expected) => {
    expect(isWanted(options)).toBe(expected);
  });

  it('excludes subscriptions with event types from a message without a type', () => {
    const untyped = matchContentOf({ data: '{"total": 5}' });
    expect(isWanted({ event_types: ['order.created'] }, untyped)).toBe(false);
    expect(isWanted({ filter: { total: [5] } }, untyped)).toBe(true);
  });

  it.each<[string, Partial<Subscription>, boolean]>([
    ['was created just before', { createdAt: 990 }, true],
    ['was created later', { createdAt: 991 }, false],
    ['had expired', { expiresAt: 1000 }, false],
    ['expired later', { expiresAt: 1001 }, true],
    ['is disabled', { disabled: { reason: 'manual', at: 5 } }, true],
    ['was deleted before', { deletedAt: 990 }, false],
    ['was deleted later', { deletedAt: 991 }, true],
    ['had not confirmed', { unconfirmed: { tokenHash: 'x', at: 5 } }, false],
    ['was asked to confirm again later', { unconfirmed: { tokenHash: 'x', at: 991 } }, true],
    ['had confirmed', { confirmedAt: 990 }, true],
    ['confirmed later', { confirmedAt: 991 }, false],
  ])('of a subscription that %s gives %s', (_what, more, expected) => {
    expect(isAddressed(more)).toBe(expected);
  });

  it('counts as filtered only active subscriptions that select other messages', () => {
    const list = [
      aSubscription({ id: 'wants' }),
      aSubscription({ id: 'other-type', options: { event_types: ['x'] } }),
      aSubscription({ id: 'other-content', options: { filter: { total: [6] } } }),
      aSubscription({ id: 'gone', deletedAt: 5, options: { event_types: ['x'] } }),
      aSubscription({ id: 'expired', expiresAt: 5, options: { event_types: ['x'] } }),
      aSubscription({
        id: 'silent',
        unconfirmed: { tokenHash: 'x', at: 5 },
        options: { event_types: ['x'] },
      }),
    ];
    const { matching, filtered } = matchSubscriptions(list, content, acceptance);
    expect(matching.map(({ id }) => id)).toEqual(['wants']);
    expect(filtered).toBe(2);
  });

  it('parses the data once, and only for content filters', () => {
    const parse = vi.spyOn(JSON, 'parse');
    try {
      const data = '{"total": 7}';
      const message = matchContentOf({ data });
      const timesParsed = () => parse.mock.calls.filter(([text]) => text === data).length;
      matchSubscriptions(
        [aSubscription(), aSubscription({ options: { event_types: ['x'] } })],
        message,
        acceptance,
      );
      expect(timesParsed()).toBe(0);
      const filtering = aSubscription({ options: { filter: { total: [7] } } });
      matchSubscriptions([filtering, filtering, filtering], message, acceptance);
      matchSubscriptions([filtering], message, acceptance);
      expect(timesParsed()).toBe(1);
    } finally {
      parse.mockRestore();
    }
  });

  it('fails on an unreadable filter, so that the message is retried', () => {
    for (const filter of [{ total: [{ wildcard: '5*' }] }, null, 'text']) {
      expect(() => isWanted({ filter })).toThrow(UnreadableFilterError);
    }
  });
});

describe('changed options', () => {
  const before = aSubscription({ options: { filter: { total: [5] } } });

  it('apply to messages accepted later; earlier messages use the previous options', () => {
    const after = withOptions(before, { filter: { total: [6] } }, 991);
    expect(matchSubscriptions([after], content, { ...acceptance, listedAt: 990 }).matching).toEqual([after]);
    expect(matchSubscriptions([after], content, { ...acceptance, listedAt: 991 }).matching).toEqual([]);
  });

  it('keep an empty previous selection, which matches all messages', () => {
    const after = withOptions(aSubscription(), { event_types: ['x'] }, 991);
    expect(after.previousSelection).toEqual({ until: 991 });
    expect(matchSubscriptions([after], content, acceptance)).toMatchObject({
      matching: [after],
      filtered: 0,
    });
  });

  it('with the same selection keep the previous one', () => {
    const once = withOptions(before, { filter: { total: [6] } }, 991);
    const twice = withOptions(once, { filter: { total: [6] }, raw_delivery: true }, 2000);
    expect(twice.options).toEqual({ filter: { total: [6] }, raw_delivery: true });
    expect(twice.previousSelection).toEqual({ filter: { total: [5] }, until: 991 });
  });
});

describe('the time of a subscription list', () => {
  it('is the time of the read', () => {
    expect(listedAt(500, [aSubscription({ createdAt: 100, deletedAt: 400 })])).toBe(500);
  });

  it.each<Partial<Subscription>>([
    { createdAt: 600 },
    { confirmedAt: 600 },
    { deletedAt: 600 },
    { previousSelection: { until: 600 } },
  ])('is not before any change on the list, whose clock may run ahead: %j', (more) => {
    expect(listedAt(500, [aSubscription(), aSubscription(more)])).toBe(600);
  });
});
