import { describe, expect, it } from 'vitest';
import { planWakeUp, scheduleName, planSqsDelay } from '../../../shared/domain/delivery/wake-up-plan.ts';

describe('an SQS delay', () => {
  it.each([
    [5_000, 5],
    [4_980, 5],
    [4_500, 5],
    [4_499, 4],
    [499, 0],
    [-3_000, 0],
    [900_400, 900],
    [86_400_000, 900],
  ])('of %i ms is rounded to %i s, within the SQS maximum', (remainingMs, delaySeconds) => {
    expect(planSqsDelay(1_000_000 + remainingMs, 1_000_000)).toEqual({ by: 'sqs_delay', delaySeconds });
  });
});

describe('the wake-up plan', () => {
  it.each([
    [89_999, 90, { by: 'sqs_delay', delaySeconds: 90 }],
    [90_000, 90, { by: 'scheduler', at: 25_000 }],
    [30_000, 8, { by: 'scheduler', at: 5_000 }],
    [5_000, 0, { by: 'sqs_delay', delaySeconds: 5 }],
    [5_001, 0, { by: 'scheduler', at: 5_000 }],
  ])('for %i ms with a threshold of %i s', (dueAt, thresholdSeconds, plan) => {
    expect(planWakeUp(dueAt, 0, thresholdSeconds)).toEqual(plan);
  });
});

describe("a schedule's name", () => {
  const key = { queue: 'q', messageId: 'm', subscriptionId: 's', bucket: 0 };

  it('is unique per due time and attempt, and valid for EventBridge Scheduler', () => {
    const names = [
      scheduleName(key, 2, 1_800_000_000_000),
      scheduleName(key, 2, 1_800_000_000_001),
      scheduleName(key, 101, 1_800_000_000_000),
      scheduleName({ ...key, subscriptionId: 't' }, 2, 1_800_000_000_000),
    ];
    expect(new Set(names).size).toBe(4);
    expect(scheduleName(key, 2, 1_800_000_000_000)).toBe(names[0]);
    for (const name of names) expect(name).toMatch(/^[0-9a-zA-Z\-_.]{1,64}$/);
  });
});
