import { generateScenario } from './generate-scenario.ts';
import { FIRST_SEED, isCaught } from './is-caught.ts';
import { runScenario } from './run-scenario.ts';
import { withRecords } from './sabotage.ts';
import { DAY, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';
import { describe, expect, it } from 'vitest';

/** The record has no accepted version, so a repeat sends a different one. */
const versionsForgotten: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      accept: ({ accepted: _forgotten, ...record }, sentAt) => records.accept(record, sentAt),
    })),
};

/** The record does not contain the life of its queue. */
const livesForgotten: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      accept: ({ queueCreatedAt: _forgotten, ...record }, sentAt) => records.accept(record, sentAt),
    })),
};

/** A body is stored on the record with its id, even if that belongs to a newer message. */
const bodiesKeptById: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      keepBody: async (message, body, until) => {
        const { acceptedAt = message.acceptedAt } = (await records.find(message.key)) ?? {};
        return records.keepBody({ ...message, acceptedAt }, body, until);
      },
    })),
};

/** The message record expires with its deliveries' records. */
const recordsEndEarly: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      accept: (record, sentAt) =>
        records.accept({ ...record, expiresAt: record.expiresAt - 7 * DAY }, sentAt),
    })),
};

/** One subscription and one message that match and do not expire. */
const plainPair = ({ subscriptions, messages }: Scenario) => {
  const [subscription] = subscriptions;
  const [message] = messages;
  if (subscription === undefined || message === undefined)
    throw new RangeError('the scenario has no subscription or no message');
  return {
    subscription: { ...subscription, interests: {}, confirmation: undefined, ttlSeconds: undefined },
    message: { ...message, ttlSeconds: undefined },
  };
};

/** A first attempt fails slowly while the queue is recreated and receives a message with the same id. */
const recreatedDuringAttempt = (scenario: Scenario): Scenario => {
  const { subscription, message } = plainPair(scenario);
  const failing = { takesMs: 12 * SECOND, response: { status: 500 } };
  return {
    ...scenario,
    settings: { ...scenario.settings, attemptTimeoutMs: 15 * SECOND, cacheSeconds: 0 },
    subscriptions: [
      { ...subscription, id: 'old', answers: { first: [], then: failing } },
      {
        ...subscription,
        id: 'new',
        at: 3 * SECOND,
        policy: { retries_with_no_delay: 0, minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 },
        answers: { first: [failing], then: { takesMs: 100, response: { status: 200 } } },
      },
    ],
    messages: [
      {
        ...message,
        at: 0,
        delaySeconds: undefined,
        repeats: [{ at: 4 * SECOND, data: '{"life":2}' }],
      },
    ],
    changes: [{ at: 2 * SECOND, kind: 'queue_recreated', afterMs: 0 }],
    interventions: [],
    standstills: [],
    throttles: [],
    rates: { calls: 0, messages: 0 },
  };
};

/** One of two subscribers may fail, which stores the body; the message is repeated after `days` of 15 days. */
const repeatedAfterDays =
  (days: number, failures: number) =>
  (scenario: Scenario): Scenario => {
    const { subscription, message } = plainPair(scenario);
    const plain = { ...subscription, at: -DAY, maxPerSecond: undefined, failures: 0 };
    const taken = { takesMs: 100, response: { status: 200 } };
    const failed = { takesMs: 100, response: { status: 500 } };
    return {
      ...scenario,
      settings: { ...scenario.settings, retentionMs: 15 * DAY },
      subscriptions: [
        { ...plain, id: 'well', answers: { first: [], then: taken } },
        {
          ...plain,
          id: 'fails',
          policy: { minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 },
          answers: { first: Array.from({ length: failures }, () => failed), then: taken },
        },
      ],
      messages: [{ ...message, at: 0, isTimed: false, repeats: [{ at: days * DAY }] }],
      changes: [],
      interventions: [],
      standstills: [],
      throttles: [],
      rates: { calls: 0, messages: 0 },
    };
  };

describe('the simulation catches a pipeline', () => {
  it('whose records have no version: a repeat sends different content', async () => {
    expect(await isCaught(versionsForgotten, 'the_body_is_unchanged', 300)).toBe(true);
  });

  it('whose records do not contain the life of the queue: a new message counts as a repeat', async () => {
    expect(await isCaught(livesForgotten, 'everything_ends', 300)).toBe(true);
  });

  it('that stores the body of an old message for a new one with its id: its retries send the old body', async () => {
    expect(await isCaught(bodiesKeptById, 'the_body_is_unchanged', 20, recreatedDuringAttempt)).toBe(true);
  });

  it('whose message records expire early: a late repeat is delivered again', async () => {
    expect(await isCaught(recordsEndEarly, 'ids_are_accepted_once', 20, repeatedAfterDays(15.1, 0))).toBe(
      true,
    );
  });

  it('and finds nothing in the correct one when a queue is recreated during an attempt', async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + 100; seed += 1) {
      const { findings } = await runScenario(recreatedDuringAttempt(generateScenario(seed)));
      expect(findings).toEqual([]);
    }
  });
});

/**
 * Around the retention of 15 days. Just after it, a message record that expired with its deliveries would be gone.
 */
const LATE_REPEATS: readonly [string, number][] = [
  ['a day', 1],
  ['13.9 days', 13.9],
  ['14.1 days', 14.1],
  ['15 days', 15],
  ['15 days and 50 ms', 15 + 50 / DAY],
  ['15.1 days', 15.1],
  ['20 days', 20],
];

describe('a message record outlives the records of its deliveries', () => {
  it.each(LATE_REPEATS.flatMap(([after, days]) => [0, 1].map((failures) => ({ after, days, failures }))))(
    'so a repeat after $after sends no request, with $failures failures before',
    async ({ days, failures }) => {
      for (let seed = FIRST_SEED; seed < FIRST_SEED + 10; seed += 1) {
        const adapted = repeatedAfterDays(days, failures)(generateScenario(seed));
        const { world, findings } = await runScenario(adapted);
        expect(findings).toEqual([]);
        expect(world.history.requests).toHaveLength(2 + failures);
        expect(world.history.acceptances).toHaveLength(1);
      }
    },
  );
});
