import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { billOf, peersOf, type Bill } from '../../../cli/commands/plan/bill.ts';
import { operationsOf } from '../../../cli/commands/plan/operations.ts';
import { peaksOf } from '../../../cli/commands/plan/peaks.ts';
import { outageEffect } from '../../../cli/commands/plan/planned.ts';
import { pricesSchema, type RegionPrices } from '../../../cli/commands/plan/tables.ts';
import { workOfDay, worksOfOutage, type Plan } from '../../../cli/commands/plan/work.ts';
import listPrices from '../../../cli/commands/plan/prices.json' with { type: 'json' };
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { plain, plans, table } from './plans.ts';

const pricesOf = (region: string): RegionPrices => {
  const prices = pricesSchema.parse(listPrices).regions[region];
  if (prices === undefined) throw new Error(`no prices of ${region}`);
  return prices;
};

const prices = pricesOf('us-east-1');

const bill = (plan: Plan): Bill => billOf(plan, operationsOf(workOfDay(plan), table), { table, prices });

describe('the bill', () => {
  it('is the sum of its lines, each a quantity times its price', () => {
    fc.assert(
      fc.property(plans, (plan) => {
        const { traffic, standing, dataOut, usd } = bill(plan);
        const lines = [...traffic, ...standing, dataOut];
        for (const line of lines) {
          expect(line.usd).toBeCloseTo((line.quantity * prices[line.what].usd) / prices[line.what].per, 6);
          expect(line.usd).toBeGreaterThanOrEqual(0);
        }
        expect(usd / lines.reduce((total, line) => total + line.usd, 0)).toBeCloseTo(1, 9);
      }),
    );
  });

  it('is higher per million deliveries at low traffic, because fewer share the fixed costs', () => {
    const [little, much] = [bill({ ...plain, messagesPerDay: 1_000 }), bill(plain)];
    expect(little.perMillionDeliveries.all).toBeGreaterThan(much.perMillionDeliveries.all);
    expect(much.perMillionDeliveries.all).toBeGreaterThan(much.perMillionDeliveries.traffic);
  });

  it('is higher for slow subscribers', () => {
    expect(bill({ ...plain, attemptMs: 5_000 }).usd).toBeGreaterThan(2 * bill(plain).usd);
  });
});

describe('the price of comparable services', () => {
  it.each([
    { fanOut: 1, sns: 1.1, destinations: 1.2 },
    { fanOut: 10, sns: 0.65, destinations: 0.3 },
  ])('matches the price lists of us-east-1 at a fan-out of $fanOut', ({ fanOut, sns, destinations }) => {
    const [first, second] = peersOf({ ...plain, fanOut }, prices);
    expect(first?.perMillionDeliveries).toBeCloseTo(sns, 10);
    expect(second?.perMillionDeliveries).toBeCloseTo(destinations, 10);
  });
});

describe('the busiest second', () => {
  const peaks = (plan: Plan) =>
    new Map(peaksOf(plan, operationsOf(workOfDay(plan), table), table).map((peak) => [peak.what, peak]));

  it('names exactly the exceeded quotas', () => {
    const over = (plan: Plan) =>
      [...peaks(plan).values()].filter(({ needed, quota }) => needed > quota).map(({ what }) => what);
    expect(over(plain)).toEqual([]);
    const slow = { ...plain, messagesPerDay: 20_000_000, attemptMs: 2_000 };
    // The need of dispatch depends on measured CPU time.
    expect(over(slow).filter((what) => what !== 'dispatch_concurrency')).toEqual([
      'lambda_concurrency',
      'deliver_concurrency',
    ]);
    const far = {
      ...DEFAULT_RETRY_POLICY,
      retries_with_no_delay: 0,
      minimum_delay: 3_600,
      maximum_delay: 3_600,
    };
    const failing = {
      ...plain,
      messagesPerDay: 50_000_000,
      failureRate: 1,
      failingSeconds: 1e6,
      policy: far,
    };
    expect(over(failing)).toEqual(
      expect.arrayContaining([
        'schedules',
        'create_schedule_rate',
        'schedule_invocation_rate',
        'table_write_rate',
      ]),
    );
  });

  it('is proportional to the peak factor', () => {
    const [usual, double] = [
      peaks({ ...plain, failureRate: 0.1 }),
      peaks({ ...plain, failureRate: 0.1, peakFactor: 8 }),
    ];
    for (const [what, { needed }] of usual) expect(double.get(what)?.needed).toBeCloseTo(2 * needed, 6);
  });
});

describe('an outage', () => {
  const hours = fc.double({ min: 0.01, max: 300, noNaN: true });
  const share = fc.double({ min: 0.01, max: 1, noNaN: true });

  it('has plausible counts: no more exhausted or waiting deliveries than affected ones', () => {
    fc.assert(
      fc.property(plans, hours, share, (plan, forHours, of) => {
        const effect = outageEffect(plan, { hours: forHours, share: of });
        const { same_invocation, sqs_delay, scheduler } = effect.retries;
        const most = effect.deliveries * 30;
        expect(effect.exhausted).toBeLessThanOrEqual(effect.deliveries);
        expect(effect.deliveries).toBeCloseTo((plan.messagesPerDay * plan.fanOut * of * forHours) / 24, -6);
        for (const part of [same_invocation, sqs_delay, scheduler]) expect(part).toBeGreaterThanOrEqual(0);
        expect(same_invocation + sqs_delay + scheduler).toBeLessThanOrEqual(most);
        // A delivery that waits for a retry at the end is not exhausted.
        expect(effect.schedulesAtPeak + effect.delayedMessagesAtPeak).toBeLessThanOrEqual(
          (effect.deliveries - effect.exhausted) * (1 + 1e-9),
        );
      }),
    );
  });

  it('of an hour exhausts no delivery under a policy of a day, and deliveries wait in schedules', () => {
    const policy = {
      ...DEFAULT_RETRY_POLICY,
      retries_with_no_delay: 0,
      minimum_delay: 600,
      maximum_delay: 7_200,
    };
    const effect = outageEffect({ ...plain, policy }, { hours: 1, share: 1 });
    expect(effect.exhausted).toBe(0);
    expect(effect.schedulesAtPeak).toBeCloseTo(effect.deliveries, 5);
    expect(effect.delayedMessagesAtPeak).toBe(0);
    // Retries are due after 600, 1200, 1800, 2400 and 3733 s. Each is made if the one before it still falls into the
    // outage.
    expect(effect.retries.scheduler).toBeCloseTo(
      ((3600 + 3000 + 2400 + 1800 + 1200 - 0) * effect.deliveries) / 3600,
      -1,
    );
  });

  it('adds the attempts of its retries, and more writes', () => {
    const effect = outageEffect(plain, { hours: 2, share: 0.5 });
    const works = worksOfOutage(plain, 2 * 3600, 0.5);
    const [outage, usual] = [operationsOf(works.outage, table), operationsOf(works.usual, table)];
    const retries = effect.retries.same_invocation + effect.retries.sqs_delay + effect.retries.scheduler;
    expect((outage.attempts - usual.attempts) / retries).toBeCloseTo(1, 1);
    expect(outage.writeUnits).toBeGreaterThan(usual.writeUnits);
  });
});
