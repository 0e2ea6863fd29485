import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  apply,
  type Delivery,
  type Expectation,
  holds,
  isOpen,
  type Transition,
} from '../../shared/domain/delivery/delivery.ts';
import { claimExisting } from '../../shared/domain/delivery/claim.ts';
import { cancelOpen, retryNow } from '../../shared/domain/delivery/interventions.ts';
import {
  awaitResume,
  endWait,
  isEndableWait,
  openPaused,
  type WaitingPlace,
} from '../../shared/domain/delivery/paused.ts';
import {
  awaitPull,
  buildAttempt,
  cancelWaiting,
  openForPull,
  type PullResult,
  receive,
  recordReceived,
} from '../../shared/domain/delivery/pull.ts';
import { postpone } from '../../shared/domain/delivery/transitions.ts';
import { MINUTE_MS } from '../../shared/domain/duration.ts';
import type { Deliveries, WriteResult } from '../../shared/ports/deliveries.ts';
import { aBarePolicy, aMessage } from '../support/builders.ts';
import { arbitraryChange, arbitraryDelivery } from '../support/delivery-arbitraries.ts';
import {
  aDelivery,
  aDeliveryKey,
  anAttempt,
  answered,
  type DeliveryFields,
  SOME_TIME,
} from '../support/delivery-builders.ts';
import { changeCases, type ChangedFields, createAll, creation, expectationCases } from './delivery-cases.ts';

type Standing = Exclude<Expectation, { kind: 'absent' }>;

const revision = ({ key, expiresAt }: Delivery, expect: Standing, change: ChangedFields): Transition => ({
  name: 'record',
  key,
  expect,
  change: { updatedAt: SOME_TIME + 1, expiresAt, ...change },
});

/** One of twenty callers has written the record, which the others got. */
const expectOneWriter = (results: readonly WriteResult[], record: Delivery | undefined): void => {
  expect(results.filter(({ kind }) => kind === 'written')).toEqual([{ kind: 'written', delivery: record }]);
  expect(results.filter(({ kind }) => kind === 'refused')).toEqual(
    Array.from({ length: 19 }, () => ({ kind: 'refused', current: record })),
  );
};

/**
 * Contract of delivery stores: a conditional write behaves like domain `holds` and `apply`, and one caller wins a
 * race.
 */
const describeWrites = (name: string, make: () => Deliveries): void => {
  describe(`deliveries ${name}`, () => {
    const deliveries = make();
    const kept = async (overrides: DeliveryFields = {}): Promise<Delivery> => {
      const delivery = aDelivery(overrides);
      expect(await deliveries.write(creation(delivery))).toEqual({ kind: 'written', delivery });
      return delivery;
    };
    const LOST = { lost: 7 };

    it('finds the complete record after its creation', async () => {
      const delivery = await kept({
        lateResults: [anAttempt({ result: answered(503, '日本') })],
        attempts: [anAttempt({ result: answered(503, 'größer 🐘\u0000"') })],
      });
      expect(await deliveries.find(delivery.key)).toEqual(delivery);
    });

    it('distinguishes deliveries that differ in one part of their key', async () => {
      const delivery = await kept();
      const others = [{ queue: 'other' }, { messageId: 'other' }, { subscriptionId: 'other' }, { bucket: 1 }];
      for (const other of others)
        expect(await deliveries.find({ ...delivery.key, ...other })).toBeUndefined();
    });

    it('creates a record once and returns it to all other callers', async () => {
      const key = aDeliveryKey();
      const racers = Array.from({ length: 20 }, (_, racer) =>
        aDelivery({ key, lease: { owner: `racer-${racer}`, until: SOME_TIME } }),
      );
      const results = await Promise.all(racers.map((racer) => deliveries.write(creation(racer))));
      expectOneWriter(results, await deliveries.find(key));
    });

    it('gives the lease to one of twenty claimers and returns the refusing record to the others', async () => {
      const delivery = await kept({ status: 'retrying', attempts: [anAttempt()] });
      const claimable = { kind: 'claimable', recorded: 1, now: SOME_TIME } as const;
      const claims = Array.from({ length: 20 }, (_, claimer) => {
        const lease = { owner: `claimer-${claimer}`, until: SOME_TIME + 60_000 };
        return deliveries.write(revision(delivery, claimable, { lease }));
      });
      const results = await Promise.all(claims);
      expectOneWriter(results, await deliveries.find(delivery.key));
    });

    it('refuses to change a missing record, with any expectation', async () => {
      const absent = aDelivery();
      for (const { expectation } of expectationCases) {
        const result = await deliveries.write(revision(absent, expectation, LOST));
        expect(result).toEqual({ kind: 'refused', current: undefined });
      }
      expect(await deliveries.find(absent.key)).toBeUndefined();
    });

    describe.each(expectationCases)('a write that expects $title', ({ expectation, record, refused }) => {
      it('succeeds if the expectation holds', async () => {
        const delivery = await kept(record);
        const changed = { ...delivery, ...LOST, updatedAt: SOME_TIME + 1 };
        const result = await deliveries.write(revision(delivery, expectation, LOST));
        expect(result).toEqual({ kind: 'written', delivery: changed });
        expect(await deliveries.find(delivery.key)).toEqual(changed);
      });

      it.each(refused)('is refused by a record $but, and returns that record', async ({ instead }) => {
        const delivery = await kept({ ...record, ...instead });
        const result = await deliveries.write(revision(delivery, expectation, LOST));
        expect(result).toEqual({ kind: 'refused', current: delivery });
        expect(await deliveries.find(delivery.key)).toEqual(delivery);
      });
    });

    it.each(changeCases)('$title', async ({ record, change, after }) => {
      const delivery = await kept(record);
      const changed = { ...delivery, updatedAt: SOME_TIME + 1, ...after };
      const result = await deliveries.write(revision(delivery, { kind: 'present' }, change));
      expect(result).toEqual({ kind: 'written', delivery: changed });
      expect(await deliveries.find(delivery.key)).toEqual(changed);
    });

    it('extends the lifetime of a record, and never shortens it', async () => {
      const delivery = await kept({ expiresAt: 2000, status: 'retrying' });
      for (const [expiresAt, lasts] of [
        [3000, 3000],
        [1000, 3000],
        [3001, 3001],
      ] satisfies [number, number][]) {
        const change = { expiresAt, lost: expiresAt };
        const result = await deliveries.write(revision(delivery, { kind: 'undelivered' }, change));
        expect(result).toMatchObject({ kind: 'written', delivery: { ...change, expiresAt: lasts } });
      }
      const overdue = { kind: 'overdue_at', overdueAt: 1 } as const;
      const result = await deliveries.write(revision(delivery, overdue, { expiresAt: 1000 }));
      expect(result).toMatchObject({ kind: 'refused', current: { expiresAt: 3001 } });
    });

    it('keeps a hundred attempts in order', async () => {
      const attempts = Array.from({ length: 100 }, (_, index) =>
        anAttempt({
          number: index + 1,
          phase: index === 0 ? 'initial' : 'backoff',
          result: answered(503, index % 10 === 0 ? `busy ${index}` : 'no'),
        }),
      );
      // The last ten are appended one by one: each write sends all that are there through the store.
      const delivery = await kept({ status: 'retrying', attempts: attempts.slice(0, 90) });
      for (const [index, appendAttempt] of attempts.slice(90).entries()) {
        const expectation: Standing = { kind: 'claimable', recorded: 90 + index, now: SOME_TIME };
        const { kind } = await deliveries.write(revision(delivery, expectation, { appendAttempt }));
        expect(kind).toBe('written');
      }
      const changed = { ...delivery, attempts, updatedAt: SOME_TIME + 1 };
      expect(await deliveries.find(delivery.key)).toEqual(changed);
    });

    it('returns the same results as the domain for random sequences of writes', async () => {
      const steps = fc.array(fc.tuple(fc.nat(expectationCases.length - 1), arbitraryChange), {
        minLength: 1,
        maxLength: 6,
      });
      await fc.assert(
        fc.asyncProperty(arbitraryDelivery, steps, async (arbitrary, changes) => {
          let model: Delivery = { ...arbitrary, key: aDeliveryKey() };
          await deliveries.write(creation(model));
          for (const [which, change] of changes) {
            const expectation = expectationFor(which, model);
            const held = holds(expectation, model);
            const result = await deliveries.write(revision(model, expectation, change));
            if (held) model = apply(change, model);
            expect(result).toEqual(
              held ? { kind: 'written', delivery: model } : { kind: 'refused', current: model },
            );
          }
          expect(await deliveries.find(model.key)).toEqual(model);
        }),
        { numRuns: 20 },
      );
    });
  });
};

/** An expectation of the case's kind, adapted to the record if possible, so that many hold. */
const expectationFor = (which: number, record: Delivery): Standing => {
  const expectation = expectationCases[which]?.expectation ?? { kind: 'present' };
  const recorded = record.attempts.length;
  switch (expectation.kind) {
    case 'claimable':
      return { ...expectation, recorded };
    case 'lease_expired':
    case 'leased':
      return leaseFor(expectation, record);
    case 'as_read':
      return { ...expectation, recorded, lease: record.lease, dueAt: record.next?.dueAt };
    case 'over':
      return endFor(expectation, record);
    case 'steps_as_read':
      return { ...expectation, pendingSteps: record.pendingSteps };
    case 'overdue_at':
      return { ...expectation, overdueAt: record.overdueAt ?? expectation.overdueAt };
    case 'present':
    case 'undelivered':
      return expectation;
  }
};

type OfKind<Kind extends Standing['kind']> = Extract<Standing, { kind: Kind }>;

const leaseFor = (expectation: OfKind<'lease_expired' | 'leased'>, { attempts, lease }: Delivery): Standing =>
  expectation.kind === 'lease_expired'
    ? { ...expectation, recorded: attempts.length, lease: lease ?? expectation.lease }
    : { ...expectation, recorded: attempts.length, owner: lease?.owner ?? expectation.owner };

const endFor = (expectation: OfKind<'over'>, record: Delivery): Standing => ({
  ...expectation,
  recorded: record.attempts.length,
  round: record.round,
  status: isOpen(record) ? expectation.status : record.status,
});

/** Contract of the overdue query. `make` returns an empty store, because the query covers all queues. */
export const describeOverdueDeliveriesContract = (name: string, make: () => Promise<Deliveries>): void => {
  describe(`overdue deliveries ${name}`, () => {
    let deliveries: Deliveries;
    beforeEach(async () => {
      deliveries = await make();
    });
    const postponeTo = (overdueAt: number | null, { key, expiresAt }: Delivery, from = 1) =>
      deliveries.write({
        name: 'postpone',
        key,
        expect: { kind: 'overdue_at', overdueAt: from },
        change: { overdueAt, updatedAt: SOME_TIME, expiresAt },
      });

    it('are found up to the exact millisecond', async () => {
      const overdue = [1, 2, 3, 4, 5, 6, 7, 8].map((overdueAt) =>
        aDelivery({ status: 'retrying', overdueAt }),
      );
      await createAll(deliveries, [...overdue, aDelivery({ overdueAt: 9 }), aDelivery()]);
      expect(await deliveries.overdue(8, 10)).toEqual(
        overdue.map(({ key, overdueAt }) => ({ key, overdueAt })),
      );
      expect(await deliveries.overdue(0, 10)).toEqual([]);
    });

    it('are no longer found once settled, and found at the new time once postponed', async () => {
      const [settled, postponed] = [aDelivery({ overdueAt: 1 }), aDelivery({ overdueAt: 1 })];
      await createAll(deliveries, [settled, postponed]);
      await postponeTo(null, settled);
      await postponeTo(9, postponed);
      expect(await deliveries.overdue(8, 10)).toEqual([]);
      expect(await deliveries.overdue(9, 10)).toEqual([{ key: postponed.key, overdueAt: 9 }]);
    });

    it('expire as much later as they are postponed, with any retention', async () => {
      const overdue = aDelivery({ status: 'retrying', overdueAt: SOME_TIME, retentionDays: 15 });
      await createAll(deliveries, [overdue]);
      const { key, expiresAt } = overdue;
      const now = SOME_TIME + 1_500;
      const later = 1_500 + 15 * MINUTE_MS;
      const times = { overdueAt: SOME_TIME + later, expiresAt: expiresAt + later, updatedAt: now };
      const delivery = { ...overdue, ...times };
      const result = await deliveries.write(postpone({ key, overdueAt: SOME_TIME }, { now }));
      expect(result).toEqual({ kind: 'written', delivery });
      expect(await deliveries.find(key)).toEqual(delivery);
    });

    it('are found up to the limit, and all sixty if the limit allows', async () => {
      const all = Array.from({ length: 60 }, (_, index) => aDelivery({ overdueAt: index + 1 }));
      await createAll(deliveries, all);
      for (const limit of [1, 7, 8, 20, 59, 60, 61]) {
        const found = await deliveries.overdue(60, limit);
        expect(found, `up to ${limit}`).toHaveLength(Math.min(limit, 60));
        expect(new Set(found.map(({ key }) => key.subscriptionId)).size).toBe(found.length);
      }
    });

    it('are all found page by page, while others are added', async () => {
      const all = Array.from({ length: 30 }, (_, index) => aDelivery({ overdueAt: index + 1 }));
      await createAll(deliveries, all);
      const waiting = new Set(all.map(({ key }) => key.subscriptionId));
      for (let page = 0; page < 20 && waiting.size > 0; page += 1) {
        for (const { key, overdueAt } of await deliveries.overdue(1000, 5)) {
          waiting.delete(key.subscriptionId);
          await postponeTo(2000, aDelivery({ key }), overdueAt);
        }
        await createAll(deliveries, [aDelivery({ overdueAt: 500 })]);
      }
      expect(waiting).toEqual(new Set());
    });
  });
};

const WEEK = 7 * 24 * 60 * 60 * 1000;
const POLICY = aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 5 });

const at = (seconds: number) => ({ now: SOME_TIME + 1000 * seconds, retentionMs: WEEK });

/** Contract of the deliveries that wait until their subscriber receives them. */
const describeWaiting = (name: string, make: () => Deliveries): void => {
  const deliveries = make();
  const write = async (transition: Transition): Promise<Delivery> => {
    const result = await deliveries.write(transition);
    if (result.kind === 'refused') throw new Error(`${transition.name} was refused`);
    return result.delivery;
  };

  const open = (subscriptionId: string, seconds = 0): Promise<Delivery> => {
    const body = { kind: 'inline', message: aMessage() } as const;
    const job = { kind: 'job', key: aDeliveryKey({ subscriptionId }), attempt: 1, lost: 1, body } as const;
    return write(openForPull({ ...job, acceptedAt: SOME_TIME }, at(seconds)));
  };

  const leaseFrom = (seconds: number) => ({
    owner: `pull/${randomUUID()}`,
    until: at(seconds + 60).now,
    receivedAt: at(seconds).now,
  });

  const firstWaiting = async ({ key }: Delivery, seconds: number) => {
    const [found] = await deliveries.waiting(key, at(seconds).now, 1);
    if (found === undefined) throw new Error('nothing waits');
    return found;
  };

  const waitingFor = async ({ key }: Delivery, seconds: number, limit = 10) =>
    (await deliveries.waiting(key, at(seconds).now, limit)).map(({ key: found, overdueAt }) => ({
      messageId: found.messageId,
      since: overdueAt - SOME_TIME,
    }));

  /** Whether reconcile would find the delivery by then. */
  const isOverdue = async ({ key }: Delivery, seconds: number): Promise<boolean> =>
    (await deliveries.overdue(at(seconds).now, 10_000)).some((one) => one.key.messageId === key.messageId);

  const receiveNow = async (delivery: Delivery, seconds: number) => {
    const lease = leaseFrom(seconds);
    const found = await firstWaiting(delivery, seconds);
    return { ...(await write(receive(found, lease, at(seconds)))), lease };
  };

  const answer = async (
    received: Awaited<ReturnType<typeof receiveNow>>,
    result: PullResult,
    seconds: number,
  ): Promise<Delivery> => {
    const attempt = buildAttempt(received, result, at(seconds).now);
    return write(recordReceived(received, { attempt, policy: POLICY }, at(seconds)));
  };

  describe(`waiting deliveries ${name}`, () => {
    it('are found by their subscription, the longest waiting first, up to a limit, and not by reconcile', async () => {
      const subscription = randomUUID();
      const [late, early] = [await open(subscription, 2), await open(subscription, 1)];
      await open(randomUUID());
      const found = [early, late].map(({ key, overdueAt = 0 }) => ({
        messageId: key.messageId,
        since: overdueAt - SOME_TIME,
      }));
      expect(await waitingFor(late, 9)).toEqual(found);
      expect(await waitingFor(late, 9, 1)).toEqual(found.slice(0, 1));
      expect(await waitingFor(late, 1)).toEqual(found.slice(0, 1));
      expect(await isOverdue(late, 9999)).toBe(false);
      expect(await deliveries.find(late.key)).toEqual(late);
      expect(late).toMatchObject({ status: 'pending', lost: 0, next: { number: 1, by: 'pull' } });
    });

    it('are received once, and found by reconcile at the end of the lease', async () => {
      const delivery = await open(randomUUID());
      const found = await firstWaiting(delivery, 1);
      const received = await write(receive(found, leaseFrom(1), at(1)));
      expect(received.lease).toMatchObject({ receivedAt: at(1).now, until: at(61).now });
      expect((await deliveries.write(receive(found, leaseFrom(1), at(1)))).kind).toBe('refused');
      expect(await waitingFor(delivery, 9999)).toEqual([]);
      expect([await isOverdue(delivery, 60), await isOverdue(delivery, 61)]).toEqual([false, true]);
    });

    it('are in no index once they are acknowledged', async () => {
      const received = await receiveNow(await open(randomUUID()), 1);
      expect(await answer(received, { kind: 'acknowledged' }, 2)).toMatchObject({ status: 'delivered' });
      expect(await waitingFor(received, 9999)).toEqual([]);
      expect(await isOverdue(received, 9999)).toBe(false);
    });

    it.each([{ kind: 'refused' }, { kind: 'lapsed' }] satisfies PullResult[])(
      'wait again from the time of their retry on, and end when there is none: $kind',
      async (result) => {
        const delivery = await open(randomUUID());
        const failed = await answer(await receiveNow(delivery, 0), result, 60);
        const again = 1000 * (60 + 5);
        expect(failed).toMatchObject({ status: 'retrying', next: { number: 2, dueAt: SOME_TIME + again } });
        expect(await waitingFor(delivery, 64)).toEqual([]);
        expect(await waitingFor(delivery, 65)).toEqual([{ messageId: delivery.key.messageId, since: again }]);
        expect(await isOverdue(delivery, 9999)).toBe(false);
        const ended = await answer(await receiveNow(delivery, 70), result, 130);
        expect(ended).toMatchObject({
          status: 'exhausted',
          pendingSteps: [{ kind: 'undeliverable' }, { kind: 'exhausted_event' }],
        });
        expect(await waitingFor(delivery, 9999)).toEqual([]);
        expect(await isOverdue(delivery, 130)).toBe(true);
      },
    );

    it('can be cancelled, and given to deliver and back', async () => {
      const [cancelled, moved] = [await open(randomUUID()), await open(randomUUID())];
      await write(cancelWaiting(await firstWaiting(cancelled, 1), 'message_expired', at(1)));
      expect(await waitingFor(cancelled, 9999)).toEqual([]);
      if (!isOpen(moved)) throw new Error('it waits');
      const woken = await write(retryNow(moved, at(1)));
      expect([await waitingFor(moved, 9999), await isOverdue(moved, 1)]).toEqual([[], true]);
      if (!isOpen(woken) || woken.next === undefined) throw new Error('it has a next attempt');
      const back = await write(awaitPull(woken, woken.next, at(2)));
      const waited = [{ reason: 'pull', ms: at(1).now - at(0).now }];
      expect(back.next).toEqual({ number: 1, phase: 'manual', dueAt: at(1).now, by: 'pull', waited });
      expect(await isOverdue(moved, 9999)).toBe(false);
      expect(await waitingFor(moved, 1)).toEqual([{ messageId: moved.key.messageId, since: 1000 }]);
    });

    it('are not mistaken for those of deliver', async () => {
      const pushed = aDelivery({ status: 'retrying', overdueAt: SOME_TIME });
      await write(creation(pushed));
      expect(await waitingFor(pushed, 9999)).toEqual([]);
    });
  });
};

/** Contract of the deliveries that wait for the end of a pause. */
const describePaused = (name: string, make: () => Deliveries): void => {
  const deliveries = make();
  const write = async (transition: Transition): Promise<Delivery> => {
    const result = await deliveries.write(transition);
    if (result.kind === 'refused') throw new Error(`${transition.name} was refused`);
    return result.delivery;
  };

  const jobOf = (queue: string, acceptedAfter: number, subscriptionId = 'subscription-1') => {
    const body = { kind: 'inline', message: aMessage() } as const;
    const key = aDeliveryKey({ queue, subscriptionId });
    return { kind: 'job', key, attempt: 1, body, acceptedAt: SOME_TIME + acceptedAfter } as const;
  };

  const isOverdue = async ({ key }: Delivery): Promise<boolean> =>
    (await deliveries.overdue(at(9999).now, 10_000)).some((one) => one.key.messageId === key.messageId);

  const idsIn = async (place: WaitingPlace, limit = 10) =>
    (await deliveries.waiting(place, at(9999).now, limit)).map(({ key }) => key.messageId);

  describe(`deliveries that wait for the end of a pause ${name}`, () => {
    it.each([['subscription'], ['queue']] as const)(
      'are found by whose pause it is, in the order of acceptance, and not by reconcile: %s',
      async (by) => {
        const queue = randomUUID();
        const late = await write(openPaused(jobOf(queue, 2000), by, at(3)));
        const early = await write(openPaused(jobOf(queue, 1000), by, at(4)));
        const ids = [early.key.messageId, late.key.messageId];
        const places = { queue: { queue }, subscription: { queue, subscriptionId: 'subscription-1' } };
        const other = by === 'queue' ? places.subscription : places.queue;
        expect([await idsIn(places[by]), await idsIn(places[by], 1)]).toEqual([ids, ids.slice(0, 1)]);
        expect([await idsIn(other), await isOverdue(late)]).toEqual([[], false]);
        expect(await deliveries.find(late.key)).toEqual(late);
      },
    );

    it('of all subscriptions of a paused queue are found together', async () => {
      const queue = randomUUID();
      const [one, two] = [
        await write(openPaused(jobOf(queue, 0, 'one'), 'queue', at(0))),
        await write(openPaused(jobOf(queue, 1, 'two'), 'queue', at(0))),
      ];
      expect(await idsIn({ queue })).toEqual([one.key.messageId, two.key.messageId]);
    });

    it('are not claimed by a wake-up or a job, until their wait ends', async () => {
      const queue = randomUUID();
      const job = jobOf(queue, 0);
      const waiting = await write(openPaused(job, 'queue', at(0)));
      const claim = { kind: 'attempt', lease: { owner: 'one', until: at(60).now } } as const;
      expect(await deliveries.write(claimExisting(job, claim, at(1)))).toMatchObject({ kind: 'refused' });
      if (!isEndableWait(waiting, at(1).now)) throw new Error('it waits');
      const due = await write(endWait(waiting, at(2).now, at(1)));
      expect(due).toMatchObject({ next: { by: 'sqs_delay', dueAt: at(2).now }, overdueAt: at(2).now });
      expect([await idsIn({ queue }), await isOverdue(due)]).toEqual([[], true]);
      expect(await deliveries.write(claimExisting(job, claim, at(2)))).toMatchObject({ kind: 'written' });
    });

    it('can have been leased, or overdue', async () => {
      const queue = randomUUID();
      const retrying = aDelivery({
        key: aDeliveryKey({ queue }),
        status: 'retrying',
        attempts: [anAttempt()],
        lease: { owner: 'crashed', until: at(1).now },
        next: { number: 2, phase: 'backoff', dueAt: SOME_TIME, by: 'scheduler' },
        overdueAt: SOME_TIME,
      });
      await write(creation(retrying));
      if (!isOpen(retrying) || retrying.lease === undefined) throw new Error('it is leased');
      const expired = { kind: 'lease_expired', recorded: 1, lease: retrying.lease } as const;
      const waiting = await write(awaitResume(retrying, 'queue', expired, at(2)));
      expect(waiting).toMatchObject({ lost: 1, next: { number: 2, phase: 'backoff', by: 'queue_pause' } });
      expect([await idsIn({ queue }), await isOverdue(waiting)]).toEqual([[waiting.key.messageId], false]);
    });

    it('are nowhere in the index once they are cancelled', async () => {
      const queue = randomUUID();
      const waiting = await write(openPaused(jobOf(queue, 0), 'queue', at(0)));
      if (!isOpen(waiting)) throw new Error('it waits');
      await write(cancelOpen(waiting, 'paused_too_long', at(1)));
      expect([await idsIn({ queue }), await isOverdue(waiting)]).toEqual([[], false]);
    });
  });
};

/** Contract of delivery stores. */
export const describeDeliveriesContract = (name: string, make: () => Deliveries): void => {
  describeWrites(name, make);
  describeWaiting(name, make);
  describePaused(name, make);
};
