import { describe, expect, it } from 'vitest';
import { KEPT, MESSAGES, answersOf, groupsOf, REQUESTS, subscribers } from '../../bench/operations/mix.ts';
import { paths, requestsOf } from '../../bench/operations/paths.ts';

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
    expect(groups.reduce((total, { deliveries, failures }) => total + deliveries * (1 + failures), 0)).toBe(
      REQUESTS,
    );
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
