import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { seededChance, type Chance } from '../support/chance.ts';
import { generateAnswers, generatePartialPolicy, generatePolicy } from './generate-subscription.ts';
import {
  DAY,
  HOUR,
  MINUTE,
  SECOND,
  type FaultRates,
  type Intervention,
  type PlannedChange,
  type PlannedMessage,
  type PlannedSubscription,
  type PlannedVersion,
  type Scenario,
  type SimulatedSettings,
  type Standstill,
} from './scenario.ts';

/** Everything about a scenario follows from its seed. */
export const generateScenario = (seed: number): Scenario => {
  const chance = seededChance(seed);
  const isLarge = chance.happens(0.0005);
  const scenario = generateOneLife(chance, seed, isLarge);
  return !isLarge && chance.happens(0.08) ? withSecondLife(chance, scenario) : scenario;
};

const generateOneLife = (chance: Chance, seed: number, isLarge: boolean): Scenario => {
  const calmAt = chance.pick([5 * MINUTE, 30 * MINUTE, 2 * HOUR, DAY]);
  const subscriptions = Array.from({ length: generateFanOut(chance, isLarge) }, (_, index) =>
    generateSubscription(chance, index, calmAt),
  );
  const messages = Array.from({ length: isLarge ? 1 : chance.int(1, 2) }, (_, index) =>
    generateMessage(chance, index, calmAt),
  );
  return {
    seed,
    settings: generateSettings(chance),
    queuePolicy: chance.happens(0.5) ? generatePartialPolicy(chance) : undefined,
    subscriptions,
    messages,
    changes: Array.from({ length: chance.pick([0, 0, 1, 1, 2, 4]) }, () =>
      generateChange(chance, chance.pick(subscriptions).id, calmAt),
    ),
    interventions: Array.from({ length: chance.pick([0, 0, 0, 1, 2, 6]) }, () =>
      generateIntervention(chance, { subscriptions, messages, calmAt }),
    ),
    standstills: chance.happens(0.15) ? [generateStandstill(chance, calmAt)] : [],
    rates: generateRates(chance, isLarge),
    confirmsSubscriptions: false,
    calmAt,
    skewMs: chance.happens(0.3) ? chance.int(1, 2 * SECOND) : 0,
    pageSize: isLarge ? 100 : chance.happens(0.25) ? chance.int(1, 3) : 1_000,
  };
};

/** The queue is deleted and made again, with other subscribers, and messages come under the ids of its earlier life. */
const withSecondLife = (chance: Chance, scenario: Scenario): Scenario => {
  const { subscriptions, messages, changes, calmAt } = scenario;
  const at = chance.int(0, chance.pick([2 * MINUTE, calmAt / 2]));
  const afterMs = chance.pick([0, SECOND, 10 * SECOND, HOUR]);
  const begins = at + afterMs + 1;
  const newcomers = Array.from({ length: chance.int(1, 4) }, (_, index) => ({
    ...generateSubscription(chance, index, calmAt),
    id: `n${index}`,
    at: begins,
  }));
  return {
    ...scenario,
    subscriptions: [...subscriptions, ...newcomers],
    changes: [...changes, { at, kind: 'queue_recreated', afterMs }],
    messages: messages.map((message, index) => ({
      ...message,
      repeats: [
        ...message.repeats,
        {
          at: begins + chance.pick([1, 10 * SECOND, 10 * SECOND, chance.int(0, calmAt)]),
          ...generateVersion(chance, index, 0, calmAt),
        },
      ],
    })),
  };
};

const generateFanOut = (chance: Chance, isLarge: boolean): number => {
  if (isLarge) return chance.int(251, 520);
  return chance.happens(0.1) ? chance.int(5, 12) : chance.int(1, 4);
};

const generateSettings = (chance: Chance): SimulatedSettings => ({
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
});

const generateSubscription = (chance: Chance, index: number, calmAt: number): PlannedSubscription => ({
  id: `s${index}`,
  at: chance.happens(0.1) ? chance.int(0, calmAt / 4) : -DAY,
  policy: chance.happens(0.5) ? generatePartialPolicy(chance) : undefined,
  ttlSeconds: chance.happens(0.05) ? Math.ceil((DAY + chance.int(1, calmAt)) / SECOND) : undefined,
  rawDelivery: chance.happens(0.1),
  maxPerSecond: chance.happens(0.3) ? chance.pick([0.02, 0.1, 0.3, 1, 2, 5]) : undefined,
  failures: chance.happens(0.2) ? chance.int(14, 30) : 0,
  answers: generateAnswers(chance),
});

/** Big integers, escapes and the order of keys must reach the subscriber as they are; some bodies lie in the bucket. */
const generateMessage = (chance: Chance, index: number, calmAt: number): PlannedMessage => {
  const at = chance.happens(0.7) ? chance.int(0, MINUTE) : chance.int(0, calmAt / 4);
  const padding = chance.pick([0, 0, 0, 0, 0, 0, 0, 0, 9_000, 70_000]);
  return {
    id: `m${index}`,
    at,
    data: dataOf(index, padding),
    type: chance.happens(0.5) ? 'created' : undefined,
    ttlSeconds: chance.happens(0.1) ? chance.int(1, calmAt / SECOND) : undefined,
    delaySeconds: chance.happens(0.1) ? chance.int(1, 900) : undefined,
    isTimed: chance.happens(0.3),
    repeats: Array.from({ length: chance.pick([0, 0, 0, 0, 1, 2]) }, () => ({
      at: at + chance.pick([0, 1, 500, chance.int(0, 2 * MINUTE), chance.int(0, calmAt)]),
      ...generateVersion(chance, index, padding, calmAt),
    })),
  };
};

const dataOf = (index: number, padding: number): string =>
  `{"b":12345678901234567890,"a":"\\u00e9 ${index}","p":"${'x'.repeat(padding)}"}`;

/** Half of the repeats say the same; the others are what a producer had better given another id. */
const generateVersion = (
  chance: Chance,
  index: number,
  padding: number,
  calmAt: number,
): Partial<PlannedVersion> =>
  chance.pick<Partial<PlannedVersion>>([
    {},
    {},
    {},
    {},
    { type: 'cancelled' },
    { data: dataOf(index + 10, padding) },
    { data: dataOf(index + 10, chance.pick([0, 9_000, 70_000])) },
    { ttlSeconds: chance.int(1, calmAt / SECOND) },
    { ttlSeconds: undefined },
    { delaySeconds: chance.happens(0.5) ? chance.int(1, 900) : undefined },
  ]);

const generateOptionalPolicy = (chance: Chance): PartialRetryPolicy | undefined =>
  chance.happens(0.8) ? generatePartialPolicy(chance) : undefined;

const generateChange = (chance: Chance, id: string, calmAt: number): PlannedChange => {
  const at = chance.int(0, chance.pick([2 * MINUTE, calmAt]));
  const policy = generateOptionalPolicy(chance);
  const dice = chance.next();
  if (dice < 0.25) return { at, kind: 'subscription_policy', id, policy };
  if (dice < 0.4) return { at, kind: 'queue_policy', policy };
  if (dice < 0.6) return { at, kind: 'subscription_url', id };
  if (dice < 0.8)
    return {
      at,
      kind: chance.pick(['subscription_deleted', 'subscription_disabled', 'subscription_enabled'] as const),
      id,
    };
  if (dice < 0.82) return { at, kind: 'queue_deleted' };
  return { at, kind: 'settings', settings: generateSettings(chance) };
};

/** Often while something is under way, and late enough at times that all is over. */
const generateIntervention = (
  chance: Chance,
  { subscriptions, messages, calmAt }: Pick<Scenario, 'subscriptions' | 'messages' | 'calmAt'>,
): Intervention => {
  const at = chance.int(0, chance.pick([2 * MINUTE, 2 * MINUTE, calmAt, 3 * calmAt]));
  if (chance.happens(0.3))
    return {
      at,
      kind: 'recover',
      subscriptionId: chance.happens(0.5) ? chance.pick(subscriptions).id : undefined,
    };
  return {
    at,
    kind: chance.pick(['retry', 'retry', 'cancel'] as const),
    messageId: chance.pick(messages).id,
    subscriptionId: chance.pick(subscriptions).id,
  };
};

const generateStandstill = (chance: Chance, calmAt: number): Standstill => {
  const from = chance.int(0, calmAt / 2);
  return {
    queue: chance.pick(['ingress', 'delivery', 'retry', 'retry'] as const),
    from,
    to: from + chance.int(MINUTE, HOUR),
  };
};

/** Many faults hide what a single one does, so most scenarios have few. */
const generateRates = (chance: Chance, isLarge: boolean): FaultRates => {
  if (isLarge) return { calls: 0.005, messages: 0.005 };
  return {
    calls: chance.pick([0, 0.02, 0.05, 0.05, 0.1, 0.2]),
    messages: chance.pick([0, 0.02, 0.05, 0.05, 0.1, 0.2]),
  };
};
