import { describe, expect, it } from 'vitest';
import { costsOf, costText } from '../../bench/operations/cost.ts';
import { KEPT, MESSAGES, answersOf, groupsOf, REQUESTS, subscribers } from '../../bench/operations/mix.ts';
import { paths, requestsOf } from '../../bench/operations/paths.ts';
import { billOf } from '../../cli/commands/plan/model/cost.ts';
import { operationsOf } from '../../cli/commands/plan/model/operations.ts';
import { workOfDay } from '../../cli/commands/plan/model/work.ts';
import { regionPrices } from '../../cli/commands/plan/tables.ts';
import { plain, table } from '../unit/plan/plans.ts';

describe('what a million deliveries cost, part by part', () => {
  it('is together what the plan says of the same traffic', () => {
    const prices = regionPrices('us-east-1');
    if (!prices.ok) throw new Error('no prices');
    for (const { together, eachByItself, fanOut, messagesPerBatch } of costsOf(table)) {
      const bill = (firstAttemptsPerJob: number): number => {
        const plan = { ...plain, fanOut, messagesPerBatch, firstAttemptsPerJob, failingSeconds: 0 };
        const operations = operationsOf(workOfDay(plan), table);
        const { traffic, perMillionDeliveries } = billOf(plan, { operations, table }, prices.value.prices);
        const secrets = traffic.find(({ what }) => what === 'kmsRequests')?.usd ?? 0;
        return perMillionDeliveries.traffic - secrets / ((1e6 * fanOut * (365 / 12)) / 1e6);
      };
      expect(together).toBeCloseTo(bill(10), 6);
      expect(eachByItself).toBeCloseTo(bill(1), 6);
    }
  });

  it('has no part below nothing, and shows each beside the peers', () => {
    const costs = costsOf(table);
    for (const { parts } of costs) for (const { part, usd } of parts) expect(usd, part).toBeGreaterThan(0);
    const text = costText(costs);
    for (const shown of ['Claim', 'Index by hour', 'Together', 'Amazon SNS over HTTP', '0.650'])
      expect(text).toContain(shown);
  });
});

describe('the requests that a path makes', () => {
  it.each([
    { path: 'delivered_hundred', requests: 800 },
    { path: 'retried_at_once_in_ten', requests: 15 * 11 },
    { path: 'retried_by_sqs_thrice', requests: 60 },
    { path: 'exhausted', requests: 300 },
  ])('are $requests for $path', ({ path, requests }) => {
    const found = paths.find((one) => one.path === path);
    expect(found && requestsOf(found)).toBe(requests);
  });
});

describe('the mixed run', () => {
  it('answers as its groups say: so many failures of so many deliveries', () => {
    let requests = 0;
    for (const subscriber of subscribers) {
      const answer = answersOf(subscriber);
      for (let number = 0; number < MESSAGES; number += 1) {
        const ask = () => answer({ headers: { 'webhook-id': `m-${number}` } });
        do requests += 1;
        while (ask().status !== undefined);
      }
    }
    expect(requests).toBe(REQUESTS);
    const groups = groupsOf(0);
    expect(groups.reduce((total, { deliveries }) => total + deliveries, 0)).toBe(
      MESSAGES * subscribers.length,
    );
    expect(
      groups.reduce((total, { deliveries, course }) => total + deliveries * (1 + course.failures), 0),
    ).toBe(REQUESTS);
  });

  it('fails nobody before it begins', () => {
    for (const subscriber of subscribers)
      expect(answersOf(subscriber)({ headers: { 'webhook-id': 'first-0' } })).toEqual({});
  });

  it('takes those with jobs of their own for deliveries to those who fail now and then', () => {
    const apart = groupsOf(36).reduce((total, group) => total + group.deliveries * group.apart, 0);
    expect(apart).toBeCloseTo(36, 6);
    expect(KEPT).toBe(MESSAGES / 5);
  });
});
