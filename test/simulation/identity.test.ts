import { generateScenario } from './generate-scenario.ts';
import { FIRST_SEED, isCaught } from './is-caught.ts';
import { runScenario } from './run-scenario.ts';
import { withRecords } from './sabotage-messages.ts';
import { DAY, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';
import { describe, expect, it } from 'vitest';

/** The record does not say which version was accepted, so a repeat sends its own. */
const versionsForgotten: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      accept: ({ accepted: _forgotten, ...record }, sentAt) => records.accept(record, sentAt),
    })),
};

/** The record does not say in which life of its queue the message was accepted. */
const livesForgotten: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      accept: ({ life: _forgotten, ...record }, sentAt) => records.accept(record, sentAt),
    })),
};

/** A body is kept on the record of its id, whichever message that is of by now. */
const bodiesKeptById: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      keepBody: async (message, body, until) => {
        const { acceptedAt = message.acceptedAt } = (await records.find(message.key)) ?? {};
        return records.keepBody({ ...message, acceptedAt }, body, until);
      },
    })),
};

/** The record of a message is gone when those of its deliveries may go. */
const recordsEndEarly: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      accept: (record, sentAt) =>
        records.accept({ ...record, expiresAt: record.expiresAt - 7 * DAY }, sentAt),
    })),
};

/** One of each, without anything that may keep the one from getting the other. */
const plainOnes = ({ subscriptions, messages }: Scenario) => {
  const [subscription] = subscriptions;
  const [message] = messages;
  if (subscription === undefined || message === undefined)
    throw new RangeError('There is nothing to change.');
  return {
    subscription: { ...subscription, interests: {}, confirmation: undefined, ttlSeconds: undefined },
    message: { ...message, ttlSeconds: undefined },
  };
};

/** A first attempt fails slowly, and meanwhile the queue is made anew and has another message under the same id. */
const recreatedMeanwhile = (scenario: Scenario): Scenario => {
  const { subscription, message } = plainOnes(scenario);
  const failing = { takesMs: 12 * SECOND, says: { status: 500 } };
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
        answers: { first: [failing], then: { takesMs: 100, says: { status: 200 } } },
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

/** Of two subscribers one may fail once, for which the body is kept; and the message comes again after so many days, of 15. */
const repeatedAfterDays =
  (days: number, failures: number) =>
  (scenario: Scenario): Scenario => {
    const { subscription, message } = plainOnes(scenario);
    const plain = { ...subscription, at: -DAY, maxPerSecond: undefined, failures: 0 };
    const taken = { takesMs: 100, says: { status: 200 } };
    const failed = { takesMs: 100, says: { status: 500 } };
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
  it('whose records do not tell versions apart: a repeat sends what was not accepted', async () => {
    expect(await isCaught(versionsForgotten, 'the_body_is_unchanged', 300)).toBe(true);
  });

  it('whose records do not tell the lives of a queue apart: a new message is taken for an old one', async () => {
    expect(await isCaught(livesForgotten, 'everything_ends', 300)).toBe(true);
  });

  it('that keeps the body of an old message for a new one of the same id: its retries send the old', async () => {
    expect(await isCaught(bodiesKeptById, 'the_body_is_unchanged', 20, recreatedMeanwhile)).toBe(true);
  });

  it('whose records of messages end early: a late repeat calls everybody again', async () => {
    expect(await isCaught(recordsEndEarly, 'ids_are_accepted_once', 20, repeatedAfterDays(15.1, 0))).toBe(
      true,
    );
  });

  it('and finds nothing in the right one where a queue is made anew in the middle of an attempt', async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + 100; seed += 1) {
      const { findings } = await runScenario(recreatedMeanwhile(generateScenario(seed)));
      expect(findings).toEqual([]);
    }
  });
});

/** Of 15 days. Just after them, a record that ended with those of its deliveries would be gone, and some of these not yet. */
const LATE_REPEATS: readonly [string, number][] = [
  ['a day', 1],
  ['13.9 days', 13.9],
  ['14.1 days', 14.1],
  ['15 days', 15],
  ['15 days and 50 ms', 15 + 50 / DAY],
  ['15.1 days', 15.1],
  ['20 days', 20],
];

describe('the record of a message outlives those of its deliveries', () => {
  it.each(LATE_REPEATS.flatMap(([after, days]) => [0, 1].map((failures) => ({ after, days, failures }))))(
    'so a repeat after $after calls nobody again, with $failures failures before',
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
