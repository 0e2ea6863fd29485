import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { aBarePolicy } from '../support/builders.ts';
import { type Chance, seededChance } from '../support/chance.ts';
import {
  generateSettings,
  generateInterests,
  generatePartialPolicy,
  RATES,
  type Traits,
} from './generate-subscription.ts';
import { bucketOf, lineOf, SUBSCRIPTIONS } from './partition.ts';
import {
  type Answer,
  type Answers,
  HOUR,
  type Intervention,
  MINUTE,
  plainMessage,
  type PlannedChange,
  type PlannedMessage,
  type PlannedRefusals,
  type PlannedSubscription,
  type Scenario,
  SECOND,
  type Standstill,
  type Throttle,
} from './scenario.ts';

/** Another sequence than that of the rest of the scenario. */
const SEED_OFFSET = 3_000_017;

/**
 * A subscriber with a backlog of slow retries, beside two that take the same messages at once, and up to three that get
 * one message and need one retry. All share a few concurrent invocations.
 */
export const withNoisySubscriber = (scenario: Scenario): Scenario => {
  const chance = seededChance(scenario.seed + SEED_OFFSET);
  const subscriber = (id: string, type: string, answers: Answers): PlannedSubscription => ({
    id,
    at: -HOUR,
    policy: { ...aBarePolicy({ minimum_delay_retries: 1 }), minimum_delay: 5 },
    ttlSeconds: undefined,
    rawDelivery: false,
    maxPerSecond: undefined,
    interests: { types: [type] },
    confirmation: undefined,
    failures: 0,
    answers,
  });
  const quiet = Array.from({ length: chance.int(1, 3) }, (_, index) =>
    subscriber(`s${index + 3}`, 'quiet', retried(chance.int(1, 300))),
  );
  const backlog = Array.from({ length: chance.int(40, 50) }, (_, index) => ({
    ...plainMessage(`m${index + 1}`, chance.int(0, 5 * SECOND)),
    type: 'noisy',
  }));
  return {
    ...scenario,
    concurrency: chance.int(1, 3),
    queuePolicy: undefined,
    confirmsSubscriptions: false,
    subscriptions: [
      { ...subscriber('s0', 'noisy', retried(chance.int(8_000, 14_000))), isNoisy: true },
      ...['s1', 's2'].map((id) => subscriber(id, 'noisy', { first: [], then: succeedsAfter(100) })),
      ...quiet,
    ],
    messages: [{ ...plainMessage('m0', chance.int(0, 20 * SECOND)), type: 'quiet' }, ...backlog],
    changes: [],
    interventions: [],
    throttles: [],
    // Few, because so many calls are made.
    rates: { calls: chance.pick([0, 0.005]), messages: chance.pick([0, 0.005]) },
  };
};

const succeedsAfter = (takesMs: number): Answer => ({ takesMs, response: { status: 200 } });

/** Fails once, at once. */
const retried = (takesMs: number): Answers => ({
  first: [{ takesMs: 100, response: { status: 500 } }],
  then: succeedsAfter(takesMs),
});

/** Changes after which what waits is still received, or cancelled by operate. */
const KEPT: ReadonlySet<PlannedChange['kind']> = new Set([
  'queue_policy',
  'subscription_policy',
  'subscription_interests',
  'subscription_secret',
  'subscription_deleted',
  'settings',
]);

/** The scenario, in which every second subscription is received by pull. */
export const withPull = (scenario: Scenario): Scenario => ({
  ...scenario,
  subscriptions: scenario.subscriptions.map((subscription, index) =>
    index % 2 === 0
      ? {
          ...subscription,
          pull: true,
          maxPerSecond: undefined,
          confirmation: undefined,
          ttlSeconds: undefined,
          failures: 0,
        }
      : subscription,
  ),
  changes: scenario.changes.filter(({ kind }) => KEPT.has(kind)),
  confirmsSubscriptions: false,
});

/** Another sequence than that of the rest of the scenario. */
const REFUSALS_SEED_OFFSET = 1_000_003;

/** Some subscribers throttle or are down for a while, a half of them from before the start. */
export const withRefusals = (scenario: Scenario): Scenario => {
  const chance = seededChance(scenario.seed + REFUSALS_SEED_OFFSET);
  const settings = {
    ...scenario.settings,
    adaptToThrottling: chance.happens(0.8),
    holdWhileDown: chance.happens(0.8),
    retryThrottled: chance.happens(0.2),
  };
  const subscriptions = scenario.subscriptions.map((one) =>
    chance.happens(0.15) && one.pull !== true
      ? {
          ...one,
          answers: { ...one.answers, refuses: generateRefusals(chance, scenario.calmAt) },
          ...(chance.happens(0.5) && { pressed: chance.pick(['slowed', 'held'] as const) }),
        }
      : one,
  );
  return { ...scenario, settings, subscriptions };
};

export const generateRefusals = (chance: Chance, calmAt: number): PlannedRefusals =>
  chance.happens(0.5) ? generateThrottling(chance) : { outages: [generateOutage(chance, calmAt)] };

const generateThrottling = (chance: Chance): PlannedRefusals => {
  const perSecond = chance.pick([0, 1, 5]);
  return chance.happens(0.2)
    ? { perSecond }
    : { perSecond, retryAfter: chance.pick(['2', '20', '9999999999', 'soon']) };
};

const generateOutage = (chance: Chance, calmAt: number) => {
  const from = chance.int(0, calmAt / 4);
  return {
    from,
    to: from + chance.pick([10 * SECOND, MINUTE, 10 * MINUTE]),
    answer: {
      takesMs: chance.pick([20, 20, 3_000]),
      response: chance.pick([
        { status: 503 },
        { status: 502 },
        { fault: 'timeout' as const },
        { fault: 'connection_refused' as const },
      ]),
    },
  };
};

/** What changes and faults apply to. */
type Population = {
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
