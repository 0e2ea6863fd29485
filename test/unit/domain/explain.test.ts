import { describe, expect, it } from 'vitest';
import {
  type Evidence,
  explain,
  type ExplainedMessage,
  type Explanation,
} from '../../../shared/domain/delivery/explain.ts';
import { filterBudget, toMatchContent } from '../../../shared/domain/message/matching.ts';
import type { Selection, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { aDelivery, SOME_TIME, type DeliveryFields } from '../../support/delivery-builders.ts';

const HOUR = 3_600_000;

const message: ExplainedMessage = {
  key: { queue: 'orders', messageId: 'm' },
  acceptedAt: SOME_TIME,
  listedAt: SOME_TIME - 5,
  buckets: 1,
  type: 'order.created',
  isForOne: false,
};

const evidence = (more: Partial<Evidence> = {}): Evidence => ({
  content: toMatchContent({ type: 'order.created', data: '{"order": {"total": 5}}' }),
  areAllRecorded: true,
  queue: undefined,
  isQueueDeleted: false,
  budget: filterBudget(),
  now: SOME_TIME + HOUR,
  retentionMs: 30 * 24 * HOUR,
  ...more,
});

const ofDelivery = (delivery: DeliveryFields, subscription = aSubscription()) =>
  explain(message, { subscription, delivery: aDelivery(delivery) }, evidence());

const ofAbsence = (
  subscription: Partial<Subscription>,
  more: Partial<Evidence> = {},
  about = message,
): Explanation | undefined =>
  explain(about, { subscription: aSubscription(subscription), delivery: undefined }, evidence(more));

const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);

const next = { number: 2, phase: 'backoff', dueAt: SOME_TIME, by: 'scheduler' } as const;
const slot = { at: SOME_TIME + 9 };
const throttled = { ...slot, reason: 'receiver_throttled' } as const;
const held = { ...slot, reason: 'circuit_open' } as const;
const lease = { owner: 'me', until: 1 };
const pauses = [{ from: SOME_TIME, version: SOME_TIME }];
const ended = [{ from: SOME_TIME, until: SOME_TIME + 1, version: SOME_TIME }];
const disabled = { reason: 'manual', at: SOME_TIME } as const;

type Keeping = Partial<Pick<Subscription, 'pauses' | 'disabled'>> & { queue?: Evidence['queue'] };

describe('a delivery explains', () => {
  it.each<[string, DeliveryFields, string]>([
    ['a success', { status: 'delivered' }, 'delivered'],
    ['a refusal', { status: 'rejected', reason: 'http_404' }, 'rejected'],
    ['the end of its retries', { status: 'exhausted', reason: 'retries_exhausted' }, 'exhausted'],
    ['a first attempt to come', { status: 'pending' }, 'pending'],
    ['a retry to come', { status: 'retrying', next }, 'retrying'],
    ['a first attempt that waits for its slot', { status: 'pending', next, slot }, 'rate_limited'],
    ['a retry that waits for its slot', { status: 'retrying', next, slot }, 'rate_limited'],
    ['a wait for a slowed receiver', { status: 'retrying', next, slot: throttled }, 'receiver_throttled'],
    ['a wait for a receiver that is down', { status: 'retrying', next, slot: held }, 'circuit_open'],
    ['an attempt in its slot', { status: 'pending', next, slot, lease }, 'pending'],
    ['a manual cancellation', { status: 'cancelled', reason: 'manual' }, 'cancelled'],
    ['an erased body', { status: 'cancelled', reason: 'body_erased' }, 'cancelled'],
    ['a disabled subscription', { status: 'cancelled', reason: 'disabled' }, 'disabled'],
    ['a deleted subscription', { status: 'cancelled', reason: 'subscription_deleted' }, 'deleted'],
    ['an expired subscription', { status: 'cancelled', reason: 'subscription_expired' }, 'expired'],
    ['no confirmation', { status: 'cancelled', reason: 'subscription_unconfirmed' }, 'unconfirmed'],
  ])('%s with certainty', (_what, delivery, verdict) => {
    expect(ofDelivery(delivery)).toEqual({ verdict, certain: true });
  });

  it.each<[string, Keeping, string, string]>([
    ['nothing', {}, 'pending', 'It waits until its subscriber receives it.'],
    ['a pause', { pauses }, 'paused', 'It waits until the subscription is resumed.'],
    ['a pause of the queue', { queue: { pauses } }, 'paused', 'It waits until the queue is resumed.'],
    ['a pause that is over', { pauses: ended }, 'pending', 'It waits until its subscriber receives it.'],
    [
      'a subscription that is disabled',
      { disabled },
      'pending',
      'Its subscriber cannot receive it until the subscription is enabled.',
    ],
  ])('what keeps its subscriber from receiving it: %s', (_what, { queue, ...fields }, verdict, detail) => {
    const delivery = aDelivery({ status: 'pending', next: { ...next, by: 'pull' } });
    const subscription = aSubscription({ subscriber: 'pull:', ...fields });
    const explained = explain(message, { subscription, delivery }, evidence({ queue }));
    expect(explained).toEqual({ verdict, certain: true, detail });
  });

  it.each<[string, Keeping, string]>([
    ['its subscription is paused', { pauses }, 'It waits until the subscription is resumed.'],
    ['its queue is paused', { queue: { pauses } }, 'It waits until the queue is resumed.'],
    ['the pause is over', { pauses: ended }, 'It is sent in the order of acceptance: the pause is over.'],
    [
      'its queue is resumed',
      { queue: { pauses: ended }, pauses },
      'It waits until the subscription is resumed.',
    ],
  ])('why it waits on record for the end of a pause: %s', (_what, { queue, ...fields }, detail) => {
    const delivery = aDelivery({ status: 'retrying', next: { ...next, by: 'queue_pause' } });
    const explained = explain(
      message,
      { subscription: aSubscription(fields), delivery },
      evidence({ queue }),
    );
    expect(explained).toEqual({ verdict: 'paused', certain: true, detail });
  });

  it.each<[string, Partial<ExplainedMessage>, Partial<Subscription>]>([
    ['The data of the message was erased.', { erasedAt: SOME_TIME }, { disabled }],
    ['The ttl of the message has expired.', { accepted: { expiresAt: SOME_TIME + HOUR } }, { disabled }],
    ['The subscription is disabled: enable it to retry.', {}, { disabled }],
  ])('why a retry of a failure would be refused: %s', (detail, about, fields) => {
    const subscription = aSubscription(fields);
    const details = (['exhausted', 'rejected', 'delivered'] as const).map((status) => {
      const pair = { subscription, delivery: aDelivery({ status }) };
      return explain({ ...message, ...about }, pair, evidence())?.detail;
    });
    expect(details).toEqual([detail, detail, undefined]);
  });

  it('what happened before its subscription was deleted', () => {
    const gone = { subscription: undefined, delivery: aDelivery({ status: 'delivered' }) };
    expect(explain(message, gone, evidence())).toMatchObject({
      verdict: 'delivered',
      certain: true,
      detail: 'The subscription has been deleted.',
    });
    expect(ofDelivery({ status: 'delivered' }, aSubscription({ deletedAt: SOME_TIME }))).toHaveProperty(
      'detail',
    );
  });
});

describe('a delivery of a deleted queue explains', () => {
  const gone = (delivery: DeliveryFields) =>
    explain(
      message,
      { subscription: undefined, delivery: aDelivery(delivery) },
      evidence({ isQueueDeleted: true }),
    );
  const detail = 'The queue has been deleted.';

  // Deliver may find no subscription before operate comes to the delivery.
  it.each(['queue_deleted', 'subscription_deleted'] as const)(
    'that it was cancelled with the queue: %s',
    (reason) => {
      expect(gone({ status: 'cancelled', reason })).toEqual({ verdict: 'cancelled', certain: true, detail });
    },
  );

  it('what happened before', () => {
    expect(gone({ status: 'delivered' })).toEqual({ verdict: 'delivered', certain: true, detail });
    expect(gone({ status: 'cancelled', reason: 'disabled' })).toMatchObject({ verdict: 'disabled' });
  });
});

describe('a subscription without a delivery', () => {
  it.each<[string, Partial<Subscription>, string, boolean]>([
    ['was created later', { createdAt: SOME_TIME }, 'added_later', true],
    ['had expired', { expiresAt: SOME_TIME }, 'expired', true],
    ['had been deleted', { deletedAt: SOME_TIME - 5 }, 'deleted', true],
    ['still waited for its confirmation', { unconfirmed: { tokenHash: 'x', at: 5 } }, 'unconfirmed', true],
    ['was confirmed later', { confirmedAt: SOME_TIME }, 'unconfirmed', false],
  ])('that %s: %j is %s', (_what, subscription, verdict, certain) => {
    expect(ofAbsence(subscription)).toMatchObject({ verdict, certain, detail: matching(/./) });
  });

  it.each<[string, Partial<Subscription>]>([
    ['created', { createdAt: SOME_TIME - 2 }],
    ['restored', { restored: { deletedAt: SOME_TIME - 9, at: SOME_TIME - 2 } }],
  ])(
    'that was %s after the list was read, and before the acceptance, is not said to be newer',
    (_, subscription) => {
      expect(ofAbsence(subscription)?.detail).toMatch(
        /, after the subscriptions were read for the message\.$/,
      );
    },
  );

  it.each<[string, Partial<Subscription>]>([
    ['was created just before', { createdAt: SOME_TIME - 5 }],
    ['expired afterwards', { expiresAt: SOME_TIME + 1 }],
    ['was asked to confirm again afterwards', { unconfirmed: { tokenHash: 'x', at: SOME_TIME } }],
    ['was disabled afterwards', { disabled: { reason: 'manual', at: SOME_TIME } }],
  ])('that %s was filtered: %j', (_what, subscription) => {
    const options = { event_types: ['order.paid'] };
    expect(ofAbsence({ ...subscription, options })).toEqual({
      verdict: 'filtered',
      certain: true,
      rule: { by: 'event_types' },
      detail: 'The message has the type order.created; wanted: order.paid.',
    });
  });

  it('names what was compared, of many types the first ten', () => {
    const event_types = Array.from({ length: 11 }, (_, index) => `t${index}`);
    const { type: _, ...without } = message;
    const untyped = explain(
      without,
      { subscription: aSubscription({ options: { event_types } }), delivery: undefined },
      evidence(),
    );
    expect(untyped?.detail).toBe(
      'The message has no type; wanted: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, ….',
    );
  });

  it('was filtered by the field of its filter that does not match first', () => {
    const options = { filter: { order: { total: [{ numeric: ['>', 100] }] } } };
    expect(ofAbsence({ options })).toEqual({
      verdict: 'filtered',
      certain: true,
      rule: { by: 'filter', path: 'order.total' },
    });
  });

  const totalIs = (total: number) => ({ filter: { order: { total: [total] } } });
  const changed = (before: Selection, options: Selection, until = SOME_TIME): Partial<Subscription> => ({
    options,
    previousSelection: { ...before, until },
  });

  it.each<[string, Selection, Selection, RegExp]>([
    [
      'filter',
      totalIs(7),
      totalIs(5),
      /filter has changed since, at 2027-01-15T08:00:00.000Z. It would match now/,
    ],
    ['filter', totalIs(7), totalIs(8), /filter has changed since.*would not match now either/],
    ['event_types', { event_types: ['order.paid'] }, {}, /event types have changed since.*would match now/],
  ])(
    'did not match then, whether or not its changed %s would match now: %j, %j',
    (by, before, now, detail) => {
      const explained = ofAbsence(changed(before, now));
      expect(explained).toMatchObject({
        verdict: 'filtered',
        certain: true,
        rule: { by },
        detail: matching(detail),
      });
      expect(explained?.detail).toMatch(/^It did not match when the message was accepted\./);
    },
  );

  it('is judged by its options before the last change, which may not be those at the acceptance', () => {
    const subscription = changed({ event_types: ['order.paid'] }, totalIs(5));
    expect(ofAbsence(subscription, { areAllRecorded: undefined })).toMatchObject({
      verdict: 'filtered',
      certain: false,
      rule: { by: 'event_types' },
      detail: matching(/judged by its options before their last change.*would match now/),
    });
  });

  it('is judged by its options after a change that came before the message', () => {
    const explained = ofAbsence(changed(totalIs(5), { event_types: ['order.paid'] }, SOME_TIME - 5));
    expect(explained).toMatchObject({ verdict: 'filtered', certain: true, rule: { by: 'event_types' } });
  });

  it('that no kept options exclude did not match all the same, and does not say that it would match now', () => {
    expect(ofAbsence(changed(totalIs(5), totalIs(8)))).toMatchObject({
      verdict: 'filtered',
      certain: false,
      detail: matching(/^It did not match when.*would not match now either/),
    });
  });

  describe('whose body is not kept', () => {
    const filtering = { options: { filter: { never: [1] } } };

    it.each([
      ['certainly, if every match has its delivery', true, true],
      ['perhaps, if some are still to come', false, false],
      ['perhaps, if they were not counted', undefined, false],
    ])('was filtered by an unknown field: %s', (_what, areAllRecorded, certain) => {
      expect(ofAbsence(filtering, { content: undefined, areAllRecorded })).toMatchObject({
        verdict: 'filtered',
        certain,
        rule: { by: 'filter' },
        detail: matching(/_retain_messages.*retainMessages/),
      });
    });

    it.each([
      ['a filter whose match cannot be judged', totalIs(5), /not known, because the body.*_retain_messages/],
      ['no filter, which would match', {}, /It would match now/],
    ])('did not match then by its filter, and has %s since', (_what, now, detail) => {
      expect(ofAbsence(changed(totalIs(7), now), { content: undefined })).toMatchObject({
        verdict: 'filtered',
        certain: true,
        rule: { by: 'filter' },
        detail: matching(detail),
      });
    });

    it('is judged by its event types all the same', () => {
      const explained = ofAbsence({ options: { event_types: ['x'] } }, { content: undefined });
      expect(explained).toMatchObject({ certain: true, rule: { by: 'event_types' } });
    });
  });

  it.each([
    ['certainly, while deliveries are to come', false, true],
    ['perhaps, if they were not counted', undefined, false],
  ])('that matches was not sent to yet: %s', (_what, areAllRecorded, certain) => {
    expect(ofAbsence({}, { areAllRecorded })).toMatchObject({ verdict: 'not_sent_yet', certain });
  });

  it('that matches only now was filtered, by options that are not kept', () => {
    expect(ofAbsence({})).toMatchObject({ verdict: 'filtered', certain: false });
    expect(ofAbsence({})).not.toHaveProperty('rule');
  });

  it('that matches a message older than the retention may have had a delivery', () => {
    const now = SOME_TIME + 30 * 24 * HOUR;
    const explained = ofAbsence({}, { now, areAllRecorded: false });
    expect(explained).toMatchObject({ verdict: 'expired', certain: false });
  });

  it('that dispatch has not reached is not judged', () => {
    const unfinished = { ...message, lastSubscriptionId: 'subscription-0' };
    const explained = ofAbsence({ options: { event_types: ['x'] } }, {}, unfinished);
    expect(explained).toMatchObject({ verdict: 'not_sent_yet', certain: true });
  });

  it('on a later page is judged by the time at which its page was read', () => {
    const part = { after: 'a', listedAt: SOME_TIME + 50, buckets: 1, firstBucket: 1 };
    const explained = ofAbsence({ createdAt: SOME_TIME + 50 }, {}, { ...message, parts: [part] });
    expect(explained).not.toMatchObject({ verdict: 'added_later' });
  });

  it('did not get a message that Posthaste sent to one subscription', () => {
    const explained = ofAbsence({}, {}, { ...message, isForOne: true });
    expect(explained).toMatchObject({ verdict: 'filtered', certain: true });
  });

  it('with a filter that this version cannot read is explained without one', () => {
    const explained = ofAbsence({ options: { filter: { a: [{ wildcard: '*' }] } } });
    expect(explained).toMatchObject({ verdict: 'not_sent_yet', certain: false });
  });
});

it('explains nothing where there is neither a subscription nor a delivery', () => {
  expect(explain(message, { subscription: undefined, delivery: undefined }, evidence())).toBeUndefined();
});
