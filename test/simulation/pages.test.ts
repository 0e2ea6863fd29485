import { describe, expect, it } from 'vitest';
import type { MessageRecord } from '../../shared/ports/messages.ts';
import { withPart } from '../support/in-memory/in-memory-messages.ts';
import { generateScenario } from './generate-scenario.ts';
import { FIRST_SEED, isCaught } from './is-caught.ts';
import { runScenario } from './run-scenario.ts';
import { withRecords } from './sabotage.ts';
import { HOUR, MINUTE, SECOND, type PlannedSubscription, type Scenario } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';
import type { StepPorts } from './ports.ts';

type Send = StepPorts['deliveryQueue']['send'];

const withSend = (ports: StepPorts, send: Send): StepPorts => ({ ...ports, deliveryQueue: { send } });

/** The next page is recorded before the previous page's jobs are sent. */
const recordedBeforePreviousSent: Sabotage = {
  ports: (ports) => {
    const { deliveryQueue } = ports;
    let hasMore = false;
    let delayedSend: (() => Promise<void>) | undefined;
    const seen = (record: MessageRecord | undefined): void => {
      hasMore = record?.lastSubscriptionId !== undefined;
    };
    const recording = withRecords(ports, (records) => ({
      accept: async (record, sentAt) => {
        const result = await records.accept(record, sentAt);
        seen(result.record);
        return result;
      },
      addPart: async (record, next) => {
        const result = await records.addPart(record, next);
        seen(result.kind === 'added' ? result.record : result.current);
        const send = delayedSend;
        delayedSend = undefined;
        await send?.();
        return result;
      },
    }));
    return withSend(recording, async (...args) => {
      if (hasMore && delayedSend === undefined) delayedSend = () => deliveryQueue.send(...args);
      else await deliveryQueue.send(...args);
    });
  },
};

/** The jobs of a page are sent before the page is recorded. */
const recordedAfterItsJobs: Sabotage = {
  ports: (ports) => {
    const { deliveryQueue } = ports;
    let delayedSend: (() => Promise<unknown>) | undefined;
    const recording = withRecords(ports, (records) => ({
      addPart: (record, next) => {
        delayedSend = () => records.addPart(record, next);
        return Promise.resolve(withPart(record, record, next));
      },
    }));
    return withSend(recording, async (...args) => {
      await deliveryQueue.send(...args);
      const record = delayedSend;
      delayedSend = undefined;
      await record?.();
    });
  },
};

/** A page is matched by the time of its read, not of the acceptance. */
const pagesMatchedAnew: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      accept: async (record, sentAt) => {
        const result = await records.accept(record, sentAt);
        return { ...result, record: { ...result.record, listedAt: ports.clock.now() } };
      },
    })),
};

/**
 * A message to ten subscriptions, four per page, with frequent crashes; the last ones subscribe just after it
 * arrives.
 */
const crashingBetweenPages = (scenario: Scenario): Scenario => {
  const [template] = scenario.subscriptions;
  const [message] = scenario.messages;
  if (template === undefined || message === undefined)
    throw new RangeError('the scenario has no subscription or no message');
  const subscription = (index: number, at: number): PlannedSubscription => ({
    ...template,
    id: `p${index}`,
    at,
    ttlSeconds: undefined,
    interests: {},
    confirmation: undefined,
    maxPerSecond: undefined,
    failures: 0,
    answers: { first: [], then: { takesMs: 100, response: { status: 200 } } },
  });
  return {
    ...scenario,
    pageSize: 4,
    settings: { ...scenario.settings, firstAttemptsPerJob: 2, cacheSeconds: 0 },
    subscriptions: [
      ...Array.from({ length: 6 }, (_, index) => subscription(index, -HOUR)),
      ...Array.from({ length: 4 }, (_, index) => subscription(6 + index, MINUTE + 300 * (index + 1))),
    ],
    messages: [
      {
        ...message,
        at: MINUTE,
        ttlSeconds: undefined,
        delaySeconds: undefined,
        repeats: [{ at: MINUTE + SECOND }, { at: MINUTE + 20 * SECOND }],
      },
    ],
    changes: [],
    interventions: [],
    standstills: [],
    throttles: [],
    rates: { calls: 0.2, messages: 0 },
    calmAt: MINUTE + 3 * SECOND,
    confirmsSubscriptions: false,
    skewMs: 0,
  };
};

describe('the simulation catches a pipeline', () => {
  it('that records a page before the previous one was sent: a crash loses that one', async () => {
    expect(await isCaught(recordedBeforePreviousSent, 'everything_ends', 300)).toBe(true);
  });

  it('that records a page after its jobs: a crash duplicates deliveries in another bucket', async () => {
    // Shows in one scenario of about 140.
    const within = 1_500;
    expect(
      await isCaught(recordedAfterItsJobs, 'duplicates_are_explained', within, crashingBetweenPages),
    ).toBe(true);
  });

  it('that matches a repeated page anew: later subscriptions receive the message', async () => {
    expect(await isCaught(pagesMatchedAnew, 'only_matches_get_a_message', 300)).toBe(true);
  });

  it('and finds nothing in the correct one when dispatch crashes between pages', async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + 300; seed += 1) {
      const { findings } = await runScenario(crashingBetweenPages(generateScenario(seed)));
      expect(findings).toEqual([]);
    }
  });
});
