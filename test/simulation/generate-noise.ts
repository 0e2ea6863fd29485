import { aBarePolicy } from '../support/builders.ts';
import { seededChance } from '../support/chance.ts';
import {
  HOUR,
  plainMessage,
  SECOND,
  type Answer,
  type Answers,
  type PlannedSubscription,
  type Scenario,
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
