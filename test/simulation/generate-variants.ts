import { aBarePolicy } from '../support/builders.ts';
import { type Chance, seededChance } from '../support/chance.ts';
import {
  answering,
  type Answers,
  HOUR,
  MINUTE,
  plainMessage,
  plainSubscription,
  type PlannedChange,
  type PlannedRefusals,
  type PlannedSubscription,
  type Scenario,
  SECOND,
} from './scenario.ts';

/** Another sequence than that of the rest of the scenario. */
const NOISE_SEED_OFFSET = 3_000_017;

/**
 * A subscriber with a backlog of slow retries, beside two that take the same messages at once, and up to three that get
 * one message and need one retry. All share a few concurrent invocations.
 */
export const withNoisySubscriber = (scenario: Scenario): Scenario => {
  const chance = seededChance(scenario.seed + NOISE_SEED_OFFSET);
  const subscriber = (id: string, type: string, answers: Answers): PlannedSubscription => ({
    ...plainSubscription(id),
    policy: { ...aBarePolicy({ minimum_delay_retries: 1 }), minimum_delay: 5 },
    interests: { types: [type] },
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
      ...['s1', 's2'].map((id) => subscriber(id, 'noisy', { first: [], then: answering(200) })),
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

/** Fails once, at once. */
const retried = (takesMs: number): Answers => ({
  first: [answering(500)],
  then: answering(200, takesMs),
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

const PAUSES_SEED_OFFSET = 3_000_017;

/** The queue or a subscription is paused, until it is resumed or by itself, once or repeatedly. In the end nothing is. */
export const withPauses = (scenario: Scenario): Scenario => {
  const chance = seededChance(scenario.seed + PAUSES_SEED_OFFSET);
  const { calmAt, messages, subscriptions } = scenario;
  const changes = Array.from({ length: chance.int(1, 4) }, (): PlannedChange[] => {
    const of = chance.happens(0.4) ? undefined : chance.pick(subscriptions).id;
    const at = Math.max(0, chance.pick(messages).at + chance.int(-10 * SECOND, 2 * MINUTE));
    const forMs = chance.pick([2 * SECOND, 20 * SECOND, 5 * MINUTE, HOUR]);
    const isResumed = chance.happens(0.6);
    const perSecond = chance.happens(0.3) ? undefined : chance.pick([0.5, 50]);
    const resumed = (after: number): PlannedChange => ({ at: at + after, kind: 'resumed', of, perSecond });
    const endsAlone = !isResumed || chance.happens(0.3);
    return [
      { at, kind: 'paused', of, forMs: endsAlone ? forMs : undefined },
      ...(isResumed ? [resumed(chance.int(0, forMs))] : []),
      ...(endsAlone ? [] : [resumed(2 * HOUR + calmAt)]),
    ];
  });
  return { ...scenario, changes: [...scenario.changes, ...changes.flat()] };
};

const RESTORATIONS_SEED_OFFSET = 4_000_037;

/**
 * The queue or a subscription is deleted and restored, once or repeatedly. In the end both are there, and a recovery
 * takes what the deletions cancelled.
 */
export const withRestorations = (scenario: Scenario): Scenario => {
  const chance = seededChance(scenario.seed + RESTORATIONS_SEED_OFFSET);
  const { messages, subscriptions } = scenario;
  // A pause whose end was lost with a deletion is watched until then: each redelivery meanwhile adds a watch.
  const calmAt = Math.min(scenario.calmAt, 2 * HOUR);
  // Before the pauses are resumed.
  const end = HOUR + calmAt;
  const changes = Array.from({ length: chance.int(1, 3) }, (): PlannedChange[] => {
    const id = chance.happens(0.4) ? undefined : chance.pick(subscriptions).id;
    const at = Math.max(5 * SECOND, chance.pick(messages).at + chance.int(-10 * SECOND, 2 * MINUTE));
    const afterMs = chance.pick([chance.int(0, 5 * SECOND), 20 * SECOND, 2 * MINUTE, HOUR]);
    return [
      { at, ...(id === undefined ? { kind: 'queue_deleted' } : { kind: 'subscription_deleted', id }) },
      ...[at + afterMs, end + MINUTE].map((each) => ({ at: each, kind: 'restored' as const, of: id })),
    ];
  });
  const last = { kind: 'recover', subscriptionId: undefined } as const;
  return {
    ...scenario,
    calmAt,
    changes: [...scenario.changes, ...changes.flat(), { at: end, kind: 'restored', of: undefined }],
    interventions: [...scenario.interventions, { at: end + 5 * HOUR, ...last }],
  };
};
