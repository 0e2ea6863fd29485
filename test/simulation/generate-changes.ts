import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { Chance } from '../support/chance.ts';
import {
  generateInterests,
  generatePartialPolicy,
  RATES,
  type Traits,
  generatePolicy,
} from './generate-subscription.ts';
import { bucketOf, lineOf, SUBSCRIPTIONS } from './partition.ts';
import {
  HOUR,
  MINUTE,
  SECOND,
  type Intervention,
  type PlannedChange,
  type PlannedMessage,
  type PlannedSubscription,
  type Standstill,
  type Throttle,
  DAY,
  type SimulatedSettings,
} from './scenario.ts';

/** What changes and faults apply to. */
export type Population = {
  subscriptions: readonly PlannedSubscription[];
  messages: readonly PlannedMessage[];
  calmAt: number;
  traits: Traits;
};

export function generateChanges(chance: Chance, population: Population): PlannedChange[] {
  const { subscriptions, messages, traits } = population;
  const changes = Array.from({ length: chance.pick([0, 0, 1, 1, 2, 4]) }, () =>
    generateChange(chance, population, chance.pick(subscriptions).id),
  );
  if (traits.usesOperate)
    changes.push({
      at: chance.pick(messages).at + chance.int(SECOND, 2 * MINUTE),
      kind: 'subscription_deleted',
      id: chance.pick(subscriptions).id,
    });
  return traits.changesOften ? [...changes, ...generateFrequentChanges(chance, population)] : changes;
}

/** Changes one subscription repeatedly while its deliveries are retried. */
function generateFrequentChanges(
  chance: Chance,
  { subscriptions, messages, traits }: Population,
): PlannedChange[] {
  const { id } = subscriptions[0] ?? chance.pick(subscriptions);
  const { at } = chance.pick(messages);
  const within = chance.pick([3, 6, 15]) * SECOND;
  return Array.from({ length: chance.int(3, 8) }, () =>
    generateSubscriptionChange(chance, { at: at + chance.int(0, within), id }, traits),
  );
}

/** A time: often soon after a message arrives, while its deliveries are in flight; else any. */
function generateMoment(chance: Chance, { messages, calmAt }: Population): number {
  const within = chance.pick([20 * SECOND, 2 * MINUTE, calmAt]);
  return (chance.happens(0.5) ? chance.pick(messages).at : 0) + chance.int(0, within);
}

function generateChange(chance: Chance, population: Population, id: string): PlannedChange {
  const at = generateMoment(chance, population);
  const dice = chance.next();
  if (dice < 0.12) return { at, kind: 'queue_policy', policy: generateOptionalPolicy(chance) };
  if (dice < 0.14) return { at, kind: 'queue_deleted' };
  if (dice < 0.27) return { at, kind: 'settings', settings: generateSettings(chance) };
  return generateSubscriptionChange(chance, { at, id }, population.traits);
}

function generateSubscriptionChange(
  chance: Chance,
  { at, id }: { at: number; id: string },
  { filters, confirms }: Traits,
): PlannedChange {
  if (filters && chance.happens(0.4))
    return { at, kind: 'subscription_interests', id, interests: generateInterests(chance) };
  if (confirms && chance.happens(0.3))
    return { at, kind: chance.pick(['subscription_unconfirmed', 'subscription_confirmed'] as const), id };
  return { at, id, ...chance.pick(CHANGES)(chance) };
}

type Change = Extract<PlannedChange, { id: string }>;
type Kind<C = Change> = C extends unknown ? Omit<C, 'at' | 'id'> : never;

const policy = (chance: Chance): Kind => ({
  kind: 'subscription_policy',
  policy: generateOptionalPolicy(chance),
});
const url = (chance: Chance): Kind => ({ kind: 'subscription_url', hasNewOrigin: chance.happens(0.5) });

/** All equally likely. */
const CHANGES: readonly ((chance: Chance) => Kind)[] = [
  policy,
  policy,
  policy,
  url,
  url,
  url,
  () => ({ kind: 'subscription_deleted' }),
  () => ({ kind: 'subscription_disabled' }),
  () => ({ kind: 'subscription_enabled' }),
  (chance) => ({ kind: 'subscription_secret', graceMs: chance.pick([0, MINUTE, HOUR]) }),
  (chance) => ({
    kind: 'subscription_limit',
    maxPerSecond: chance.happens(0.7) ? chance.pick(RATES) : undefined,
  }),
];

function generateOptionalPolicy(chance: Chance): PartialRetryPolicy | undefined {
  return chance.happens(0.8) ? generatePartialPolicy(chance) : undefined;
}

export function generateInterventions(chance: Chance, population: Population): Intervention[] {
  const { traits, messages } = population;
  const interventions = Array.from({ length: chance.pick([0, 0, 0, 1, 2, 6]) }, () =>
    generateIntervention(chance, population),
  );
  if (!traits.usesOperate) return interventions;
  const recoveries = Array.from({ length: chance.int(2, 5) }, () => ({
    at: chance.pick(messages).at + chance.int(10 * SECOND, 10 * MINUTE),
    kind: 'recover' as const,
    subscriptionId: undefined,
  }));
  return [...interventions, ...recoveries];
}

/** Often while deliveries are in flight, sometimes after everything has ended. */
function generateIntervention(chance: Chance, { subscriptions, messages, calmAt }: Population): Intervention {
  const at = chance.int(0, chance.pick([2 * MINUTE, 2 * MINUTE, calmAt, 3 * calmAt]));
  const subscriptionId = chance.pick(subscriptions).id;
  const messageId = chance.pick(messages).id;
  const dice = chance.next();
  if (dice < 0.3)
    return { at, kind: 'recover', subscriptionId: chance.happens(0.5) ? subscriptionId : undefined };
  if (dice < 0.4) return { at, kind: 'erase', messageId };
  return { at, kind: chance.pick(['retry', 'send', 'cancel'] as const), messageId, subscriptionId };
}

export function generateStandstill(chance: Chance, calmAt: number): Standstill {
  const from = chance.int(0, calmAt / 2);
  return {
    queue: chance.pick(['ingress', 'delivery', 'retry', 'retry', 'operation'] as const),
    from,
    to: from + chance.int(MINUTE, HOUR),
  };
}

/** Starts with the first call for a message, or during its retries. */
export function generateThrottle(chance: Chance, { subscriptions, messages }: Population): Throttle {
  const { id, at } = chance.pick(messages);
  const from = at + chance.pick([0, chance.int(0, 2 * SECOND), chance.int(0, MINUTE)]);
  const message = bucketOf(id);
  return {
    partition: chance.pick([message, message, SUBSCRIPTIONS, lineOf(chance.pick(subscriptions).id)]),
    from,
    to: from + chance.int(SECOND, chance.pick([10 * SECOND, MINUTE, 10 * MINUTE])),
  };
}

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
