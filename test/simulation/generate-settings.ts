import type { Chance } from '../support/chance.ts';
import { generatePolicy } from './generate-subscription.ts';
import { DAY, HOUR, MINUTE, SECOND, type SimulatedSettings } from './scenario.ts';

export const generateSettings = (chance: Chance): SimulatedSettings => ({
  attemptTimeoutMs: chance.pick([5, 15, 15, 15, 30]) * SECOND,
  schedulerThresholdSeconds: chance.pick([0, 10, 90, 90, 90, 900]),
  retentionMs: chance.pick([15, 30, 30]) * DAY,
  retryAfterCapMs: chance.pick([60 * SECOND, HOUR, HOUR]),
  overdueAfterMs: 30 * SECOND,
  cacheSeconds: chance.pick([0, 5, 5]),
  disableFailingAfterMs: chance.pick([0, 5 * MINUTE, HOUR, 5 * DAY]),
  retainMessages: chance.happens(0.2) ? 'all' : 'failed',
  firstAttemptsPerJob: chance.pick([1, 2, 3, 10, 10]),
  defaultRetryPolicy: { ...generatePolicy(chance), ignore_subscription_override: false },
  adaptToThrottling: false,
  holdWhileDown: false,
  retryThrottled: false,
});
