import { expect, it } from 'vitest';
import type { MessageRecord } from '../../shared/ports/messages.ts';
import { generateScenario } from './generate-scenario.ts';
import { runScenario } from './run-scenario.ts';
import { FIRST_SEED, itAccepts, itCatches, replacing } from './sabotage.ts';
import { answering, CALM, DAY, NO_FAULTS, plainPair, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

/** Changes the record of each accepted message. */
const accepting = (changed: (record: MessageRecord) => MessageRecord): Sabotage =>
  replacing('messageRecords', (records) => ({
    accept: (record, sentAt) => records.accept(changed(record), sentAt),
  }));

/** A first attempt fails slowly while the queue is recreated and receives a message with the same id. */
const recreatedDuringAttempt = (scenario: Scenario): Scenario => {
  const { subscription, message } = plainPair(scenario);
  const failing = answering(500, 12 * SECOND);
  return {
    ...scenario,
    ...CALM,
    rates: NO_FAULTS,
    settings: { ...scenario.settings, attemptTimeoutMs: 15 * SECOND, cacheSeconds: 0 },
    subscriptions: [
      { ...subscription, id: 'old', answers: { first: [], then: failing } },
      {
        ...subscription,
        id: 'new',
        at: 3 * SECOND,
        policy: { retries_with_no_delay: 0, minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 },
        answers: { first: [failing], then: answering(200) },
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
  };
};

/** One of two subscribers may fail, which stores the body; the message is repeated after `days` of 15 days. */
const repeatedAfterDays =
  (days: number, failures: number) =>
  (scenario: Scenario): Scenario => {
    const { subscription, message } = plainPair(scenario);
    const plain = { ...subscription, at: -DAY, maxPerSecond: undefined, failures: 0 };
    return {
      ...scenario,
      ...CALM,
      rates: NO_FAULTS,
      settings: { ...scenario.settings, retentionMs: 15 * DAY },
      subscriptions: [
        { ...plain, id: 'well', answers: { first: [], then: answering(200) } },
        {
          ...plain,
          id: 'fails',
          policy: { minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 },
          answers: { first: Array.from({ length: failures }, () => answering(500)), then: answering(200) },
        },
      ],
      messages: [{ ...message, at: 0, isTimed: false, repeats: [{ at: days * DAY }] }],
    };
  };

itCatches({
  'whose records have no version: a repeat sends different content': {
    by: 'the_body_is_unchanged',
    seed: 7,
    ...accepting(({ accepted: _forgotten, ...record }) => record),
  },

  'whose records do not contain the life of the queue: a new message counts as a repeat': {
    by: 'everything_ends',
    seed: 2,
    ...accepting(({ queueCreatedAt: _forgotten, ...record }) => record),
  },

  'that stores the body of an old message for a new one with its id: its retries send the old body': {
    by: 'the_body_is_unchanged',
    seed: 1,
    among: recreatedDuringAttempt,
    ...replacing('messageRecords', (records) => ({
      keepBody: async (message, body, until) => {
        const { acceptedAt = message.acceptedAt } = (await records.find(message.key)) ?? {};
        return records.keepBody({ ...message, acceptedAt }, body, until);
      },
    })),
  },

  'whose message records expire with those of their deliveries: a late repeat is delivered again': {
    by: 'ids_are_accepted_once',
    seed: 1,
    among: repeatedAfterDays(15.1, 0),
    ...accepting((record) => ({ ...record, expiresAt: record.expiresAt - 7 * DAY })),
  },
});

itAccepts(100, { 'if a queue is recreated during an attempt': recreatedDuringAttempt });

/** Around the retention of 15 days. Just after it, a message record that expired with its deliveries would be gone. */
const LATE_REPEATS = [1, 13.9, 14.1, 15, 15 + 50 / DAY, 15.1, 20];

it.each(LATE_REPEATS.flatMap((days) => [0, 1].map((failures) => ({ days, failures }))))(
  'a message record outlives its deliveries: a repeat after $days days sends no request, with $failures failures before',
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
