import { chanceAt, seededChance, type Chance } from '../support/chance.ts';
import {
  generateChanges,
  generateInterventions,
  generateStandstill,
  generateThrottle,
  generateSettings,
} from './generate-changes.ts';
import { withNoisySubscriber, withPull, withRefusals } from './generate-variants.ts';
import {
  generatePartialPolicy,
  generateSubscription,
  withFrequentRequests,
  type Traits,
} from './generate-subscription.ts';
import {
  DAY,
  HOUR,
  MINUTE,
  SECOND,
  type FaultRates,
  type PlannedMessage,
  type PlannedVersion,
  type Scenario,
} from './scenario.ts';
import { withTokens } from './simulated-tokens.ts';

/** The scenario of a seed. Deterministic. */
export const generateScenario = (seed: number): Scenario => {
  const chance = seededChance(seed);
  const isLarge = chance.happens(0.0005);
  const scenario = generateOneLife(chance, seed, isLarge);
  if (!isLarge && chance.happens(0.08)) return withRefusals(withSecondLife(chance, scenario));
  return withRefusals(withOtherKinds(scenario));
};

/** Drawn apart, so that a seed keeps the rest of its scenario. */
const withOtherKinds = (scenario: Scenario): Scenario => {
  const { seed } = scenario;
  if (chanceAt(seed, 'noisy') < 0.02) return withNoisySubscriber(scenario);
  const pulled = chanceAt(seed, 'pull') < 0.05 ? withPull(scenario) : scenario;
  return chanceAt(seed, 'tokens') < 0.05 ? withTokens(pulled) : pulled;
};

const generateOneLife = (chance: Chance, seed: number, isLarge: boolean): Scenario => {
  const calmAt = chance.pick([5 * MINUTE, 30 * MINUTE, 2 * HOUR, DAY]);
  const traits = generateTraits(chance);
  const subscriptions = Array.from({ length: generateFanOut(chance, isLarge) }, (_, index) => {
    const subscription = generateSubscription(chance, index, calmAt, traits);
    return traits.changesOften && index === 0 ? withFrequentRequests(chance, subscription) : subscription;
  });
  const messages = Array.from({ length: isLarge ? 1 : generateCount(chance, seed, traits) }, (_, index) =>
    generateMessage(chance, index, calmAt, traits),
  );
  const population = { subscriptions, messages, calmAt, traits };
  return {
    seed,
    settings: generateSettings(chance),
    queuePolicy: chance.happens(0.5) ? generatePartialPolicy(chance) : undefined,
    subscriptions,
    messages,
    changes: generateChanges(chance, population),
    interventions: generateInterventions(chance, population),
    standstills: chance.happens(0.15) ? [generateStandstill(chance, calmAt)] : [],
    throttles: chance.happens(0.12) ? [generateThrottle(chance, population)] : [],
    rates: generateRates(chance, isLarge, traits),
    confirmsSubscriptions: traits.confirms,
    calmAt,
    skewMs: chance.happens(0.3) ? chance.int(1, 2 * SECOND) : 0,
    // Drawn apart, so that a seed keeps the rest of its scenario.
    machines: seededChance(seed + 1_000_000_000).pick([1, 3, 10, 100]),
    pageSize: isLarge ? 100 : chance.happens(0.25) ? chance.int(1, 3) : 1_000,
  };
};

/**
 * One or two messages. Some scenarios have up to fifty; that is drawn apart, so that the others keep theirs. Never with
 * long lists: filtering fifty of those takes as long as a hundred scenarios.
 */
const generateCount = (chance: Chance, seed: number, { isExpensive }: Traits): number => {
  const few = chance.int(1, 2);
  const apart = seededChance(seed + 2_000_000_000);
  return !isExpensive && apart.happens(0.006) ? apart.int(10, 50) : few;
};

/** Most scenarios have no traits, so that faults without them are found too. */
const generateTraits = (chance: Chance): Traits => {
  const filters = chance.happens(0.3);
  return {
    filters,
    isExpensive: filters && chance.happens(0.1),
    confirms: chance.happens(0.1),
    changesOften: chance.happens(0.15),
    usesOperate: chance.happens(0.1),
  };
};

/** Adds a second life of the queue: deleted, recreated with other subscribers, and the same message ids reused. */
const withSecondLife = (chance: Chance, scenario: Scenario): Scenario => {
  const { subscriptions, messages, changes, calmAt } = scenario;
  const at = chance.int(0, chance.pick([2 * MINUTE, calmAt / 2]));
  const afterMs = chance.pick([0, SECOND, 10 * SECOND, HOUR]);
  const begins = at + afterMs + 1;
  const traits = generateTraits(chance);
  const newcomers = Array.from({ length: chance.int(1, 4) }, (_, index) => ({
    ...generateSubscription(chance, index, calmAt, traits),
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
          ...generateVersion(chance, index, { padding: 0, isList: false }, calmAt),
        },
      ],
    })),
  };
};

const generateFanOut = (chance: Chance, isLarge: boolean): number => {
  if (isLarge) return chance.int(251, 520);
  return chance.happens(0.1) ? chance.int(5, 12) : chance.int(1, 4);
};

/** Big integers, escapes and key order must arrive unchanged; some bodies are stored in the bucket. */
const generateMessage = (
  chance: Chance,
  index: number,
  calmAt: number,
  { filters, isExpensive }: Traits,
): PlannedMessage => {
  const at = chance.happens(0.7) ? chance.int(0, MINUTE) : chance.int(0, calmAt / 4);
  const size = { padding: chance.pick([0, 0, 0, 0, 0, 0, 0, 0, 9_000, 70_000]), isList: isExpensive };
  return {
    id: `m${index}`,
    at,
    data: dataOf(index, size),
    type: chance.happens(0.5) ? 'created' : undefined,
    ttlSeconds: chance.happens(0.1) ? chance.int(1, calmAt / SECOND) : undefined,
    delaySeconds: chance.happens(0.1) ? chance.int(1, 900) : undefined,
    isTimed: chance.happens(0.3),
    // A repeat has to determine the original matches.
    repeats: Array.from({ length: chance.pick(filters ? [0, 1, 2, 3] : [0, 0, 0, 0, 1, 2]) }, () => ({
      at: at + chance.pick([0, 1, 500, chance.int(0, 2 * MINUTE), chance.int(0, calmAt)]),
      ...generateVersion(chance, index, size, calmAt),
    })),
  };
};

type Size = { padding: number; isList: boolean };

/** Long enough that the expensive filter remains undecided. */
const LIST = `[${'{"x":"y"},'.repeat(2_500)}{}]`;

const dataOf = (index: number, { padding, isList }: Size): string => {
  const list = isList ? `"l":${LIST},` : '';
  return `{"b":12345678901234567890,"a":"\\u00e9 ${index}","k":${index % 3},${list}"p":"${'x'.repeat(padding)}"}`;
};

/** Half of the repeats are identical; the others reuse an id for different content. */
const generateVersion = (
  chance: Chance,
  index: number,
  size: Size,
  calmAt: number,
): Partial<PlannedVersion> =>
  chance.pick<Partial<PlannedVersion>>([
    {},
    {},
    {},
    {},
    { type: 'cancelled' },
    { data: dataOf(index + 10, size) },
    { data: dataOf(index + 10, { ...size, padding: chance.pick([0, 9_000, 70_000]) }) },
    { ttlSeconds: chance.int(1, calmAt / SECOND) },
    { ttlSeconds: undefined },
    { delaySeconds: chance.happens(0.5) ? chance.int(1, 900) : undefined },
  ]);

/** Many faults hide the effect of a single one, so most scenarios have few. */
const generateRates = (chance: Chance, isLarge: boolean, { usesOperate }: Traits): FaultRates => {
  if (isLarge) return { calls: 0.005, messages: 0.005 };
  if (usesOperate) return { calls: 0.15, messages: 0.1 };
  return {
    calls: chance.pick([0, 0.02, 0.05, 0.05, 0.1, 0.2]),
    messages: chance.pick([0, 0.02, 0.05, 0.05, 0.1, 0.2]),
  };
};
