import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  apply,
  type Delivery,
  type Expectation,
  holds,
  isOpen,
  type Transition,
} from '../../shared/domain/delivery/delivery.ts';
import type { Deliveries } from '../../shared/ports/deliveries.ts';
import { arbitraryChange, arbitraryDelivery } from '../support/delivery-arbitraries.ts';
import {
  aDelivery,
  aDeliveryKey,
  anAttempt,
  SOME_TIME,
  type DeliveryFields,
  answered,
} from '../support/delivery-builders.ts';
import { changeCases, expectationCases, type ChangedFields } from './delivery-cases.ts';

type Standing = Exclude<Expectation, { kind: 'absent' }>;

const creation = (create: Delivery): Transition => ({
  name: 'open',
  key: create.key,
  expect: { kind: 'absent' },
  create,
});

const revision = ({ key, expiresAt }: Delivery, expect: Standing, change: ChangedFields): Transition => ({
  name: 'record',
  key,
  expect,
  change: { updatedAt: SOME_TIME + 1, expiresAt, ...change },
});

/**
 * Contract of delivery stores: a conditional write behaves like domain `holds` and `apply`, and one caller wins a
 * race.
 */
export const describeDeliveriesContract = (name: string, make: () => Deliveries): void => {
  describe(`deliveries ${name}`, () => {
    const kept = async (
      overrides: DeliveryFields = {},
    ): Promise<{ deliveries: Deliveries; delivery: Delivery }> => {
      const deliveries = make();
      const delivery = aDelivery(overrides);
      expect(await deliveries.write(creation(delivery))).toEqual({ kind: 'written', delivery });
      return { deliveries, delivery };
    };

    it('finds nothing before the first write', async () => {
      expect(await make().find(aDeliveryKey())).toBeUndefined();
    });

    it('finds the complete record after its creation', async () => {
      const { deliveries, delivery } = await kept({
        lateResults: [anAttempt({ result: answered(503, '日本') })],
        attempts: [anAttempt({ result: answered(503, 'größer 🐘\u0000"') })],
      });
      expect(await deliveries.find(delivery.key)).toEqual(delivery);
    });

    it('distinguishes deliveries that differ in one part of their key', async () => {
      const { deliveries, delivery } = await kept();
      const others = [{ queue: 'other' }, { messageId: 'other' }, { subscriptionId: 'other' }, { bucket: 1 }];
      for (const other of others)
        expect(await deliveries.find({ ...delivery.key, ...other })).toBeUndefined();
    });

    it('creates a record once and returns it to all other callers', async () => {
      const deliveries = make();
      const key = aDeliveryKey();
      const racers = Array.from({ length: 50 }, (_, racer) =>
        aDelivery({ key, lease: { owner: `racer-${racer}`, until: SOME_TIME } }),
      );
      const results = await Promise.all(racers.map((racer) => deliveries.write(creation(racer))));
      const record = await deliveries.find(key);
      expect(results.filter(({ kind }) => kind === 'written')).toEqual([
        { kind: 'written', delivery: record },
      ]);
      const losers = results.filter((result) => result.kind === 'refused');
      expect(losers).toEqual(Array.from({ length: 49 }, () => ({ kind: 'refused', current: record })));
    });

    it('gives the lease to one of fifty claimers and returns the refusing record to the others', async () => {
      const { deliveries, delivery } = await kept({ status: 'retrying', attempts: [anAttempt()] });
      const claims = Array.from({ length: 50 }, (_, claimer) =>
        revision(
          delivery,
          { kind: 'claimable', recorded: 1, now: SOME_TIME },
          {
            lease: { owner: `claimer-${claimer}`, until: SOME_TIME + 60_000 },
          },
        ),
      );
      const results = await Promise.all(claims.map((claim) => deliveries.write(claim)));
      const record = await deliveries.find(delivery.key);
      expect(results.filter(({ kind }) => kind === 'written')).toEqual([
        { kind: 'written', delivery: record },
      ]);
      const losers = results.filter((result) => result.kind === 'refused');
      expect(losers).toEqual(Array.from({ length: 49 }, () => ({ kind: 'refused', current: record })));
    });

    it('refuses to change a missing record, with any expectation', async () => {
      const deliveries = make();
      const absent = aDelivery();
      for (const { expectation } of expectationCases) {
        const result = await deliveries.write(revision(absent, expectation, { lost: 7 }));
        expect(result).toEqual({ kind: 'refused', current: undefined });
      }
      expect(await deliveries.find(absent.key)).toBeUndefined();
    });

    describe.each(expectationCases)('a write that expects $title', ({ expectation, record, refused }) => {
      it('succeeds if the expectation holds', async () => {
        const { deliveries, delivery } = await kept(record);
        const result = await deliveries.write(revision(delivery, expectation, { lost: 7 }));
        const changed = { ...delivery, lost: 7, updatedAt: SOME_TIME + 1 };
        expect(result).toEqual({ kind: 'written', delivery: changed });
        expect(await deliveries.find(delivery.key)).toEqual(changed);
      });

      it.each(refused)('is refused by a record $but, and returns that record', async ({ instead }) => {
        const { deliveries, delivery } = await kept({ ...record, ...instead });
        const result = await deliveries.write(revision(delivery, expectation, { lost: 7 }));
        expect(result).toEqual({ kind: 'refused', current: delivery });
        expect(await deliveries.find(delivery.key)).toEqual(delivery);
      });
    });

    it.each(changeCases)('$title', async ({ record, change, after }) => {
      const { deliveries, delivery } = await kept(record);
      const changed = { ...delivery, updatedAt: SOME_TIME + 1, ...after };
      const result = await deliveries.write(revision(delivery, { kind: 'present' }, change));
      expect(result).toEqual({ kind: 'written', delivery: changed });
      expect(await deliveries.find(delivery.key)).toEqual(changed);
    });

    it('extends the lifetime of a record, and never shortens it', async () => {
      const { deliveries, delivery } = await kept({ expiresAt: 2000, status: 'retrying' });
      for (const [expiresAt, lasts] of [
        [3000, 3000],
        [1000, 3000],
        [3001, 3001],
      ] satisfies [number, number][]) {
        const result = await deliveries.write(
          revision(delivery, { kind: 'undelivered' }, { expiresAt, lost: expiresAt }),
        );
        expect(result).toMatchObject({
          kind: 'written',
          delivery: { expiresAt: lasts, lost: expiresAt },
        });
      }
      const result = await deliveries.write(
        revision(delivery, { kind: 'overdue_at', overdueAt: 1 }, { expiresAt: 1000 }),
      );
      expect(result).toMatchObject({ kind: 'refused', current: { expiresAt: 3001 } });
    });

    it('keeps a hundred attempts in order', async () => {
      const { deliveries, delivery } = await kept({ status: 'retrying' });
      const attempts = Array.from({ length: 100 }, (_, index) =>
        anAttempt({
          number: index + 1,
          phase: index === 0 ? 'initial' : 'backoff',
          result: answered(503, index % 10 === 0 ? `busy ${index}` : 'no'),
        }),
      );
      for (const [recorded, appendAttempt] of attempts.entries()) {
        const expectation: Standing = { kind: 'claimable', recorded, now: SOME_TIME };
        expect(await deliveries.write(revision(delivery, expectation, { appendAttempt }))).toMatchObject({
          kind: 'written',
        });
      }
      expect(await deliveries.find(delivery.key)).toEqual({
        ...delivery,
        attempts,
        updatedAt: SOME_TIME + 1,
      });
    });

    it('returns the same results as the domain for random sequences of writes', async () => {
      const deliveries = make();
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

const leaseFor = (
  expectation: OfKind<'lease_expired' | 'leased'>,
  { attempts, lease }: Delivery,
): Standing =>
  expectation.kind === 'lease_expired'
    ? { ...expectation, recorded: attempts.length, lease: lease ?? expectation.lease }
    : { ...expectation, recorded: attempts.length, owner: lease?.owner ?? expectation.owner };

const endFor = (expectation: OfKind<'over'>, record: Delivery): Standing => ({
  ...expectation,
  recorded: record.attempts.length,
  round: record.round,
  status: isOpen(record) ? expectation.status : record.status,
});
