import { expect, it } from 'vitest';
import { aBarePolicy } from '../support/builders.ts';
import { seededChance } from '../support/chance.ts';
import { generateScenario } from './generate-scenario.ts';
import { runScenario } from './run-scenario.ts';
import { itAccepts, itCatches, replaced, replacing, withoutFaults, writing } from './sabotage.ts';
import {
  answering,
  HOUR,
  MINUTE,
  NO_FAULTS,
  plainMessage,
  type Scenario,
  SECOND,
  UNSELECTIVE,
} from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

/** Every reservation returns a slot that is due now. */
const slotsNotSpaced: Sabotage = replacing('rateLimits', (_port, { clock }) => ({
  reserve: (_limited, { epoch }) => Promise.resolve({ at: clock.now(), epoch }),
}));

const RATES = [0.1, 0.5, 1, 3, 7, 10];

/** Thirty messages at once to rate-limited subscribers that sometimes fail; no other faults than the seed's. */
const inBursts = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, attemptTimeoutMs: 15_000, disableFailingAfterMs: 0 },
  subscriptions: scenario.subscriptions.slice(0, 2).map((one, index) => ({
    ...one,
    ...UNSELECTIVE,
    at: -HOUR,
    ttlSeconds: undefined,
    maxPerSecond: RATES[(scenario.seed + index) % RATES.length],
    policy: {
      retries_with_no_delay: 2,
      minimum_delay_retries: 1,
      minimum_delay: 1,
      backoff_retries: 0,
      maximum_delay_retries: 0,
    },
    answers: {
      first: scenario.seed % 2 === 0 ? [] : [answering(500, 50)],
      then: answering(200, 50),
    },
  })),
  messages: Array.from({ length: 30 }, (_, index) => plainMessage(`m${index}`, index % 3)),
  changes: [],
  interventions: [],
  throttles: [],
  calmAt: 10 * MINUTE,
});

/** The retry queue stalls for a minute, then delivers all wake-ups at once. */
const withStalledQueue = (scenario: Scenario): Scenario => ({
  ...inBursts(scenario),
  rates: NO_FAULTS,
  skewMs: 0,
  standstills: [{ queue: 'retry', from: 2 * SECOND, to: MINUTE }],
});

/** The limit changes repeatedly while the line is long, and some waiting deliveries are cancelled. */
const withChangingLimits = (scenario: Scenario): Scenario => {
  const chance = seededChance(scenario.seed);
  const bursts = inBursts(scenario);
  const { messages } = bursts;
  const subscriptions = bursts.subscriptions.map((one) => ({
    ...one,
    maxPerSecond: chance.pick([0.1, 0.5]),
    // Shorter than the lines, so that retries reserve slots before they are due.
    policy: { ...aBarePolicy(), minimum_delay_retries: 1, minimum_delay: 30, maximum_delay: 30 },
  }));
  return {
    ...bursts,
    subscriptions,
    changes: Array.from({ length: 4 }, () => ({
      at: chance.int(0, 3 * MINUTE),
      kind: 'subscription_limit' as const,
      id: chance.pick(subscriptions).id,
      maxPerSecond: chance.happens(0.2) ? undefined : chance.pick(RATES),
    })),
    interventions: Array.from({ length: chance.int(0, 20) }, () => ({
      at: chance.int(0, 3 * MINUTE),
      kind: chance.pick(['cancel', 'cancel', 'retry'] as const),
      messageId: chance.pick(messages).id,
      subscriptionId: chance.pick(subscriptions).id,
    })),
  };
};

// Each rate with subscribers that fail and that do not.
itAccepts(2 * RATES.length, {
  'if bursts come for rate-limited subscribers, with any faults': inBursts,
  'if such a burst waits in a queue that stalls': withStalledQueue,
  'if the limits change meanwhile': withChangingLimits,
});

it('a backlog for a rate-limited subscriber drains as fast as the limit allows without faults', async () => {
  const scenario = { ...withoutFaults(inBursts(generateScenario(6))), skewMs: 0 };
  const [subscription] = scenario.subscriptions;
  const only = subscription === undefined ? [] : [{ ...subscription, maxPerSecond: 10 }];
  const { world } = await runScenario({ ...scenario, subscriptions: only });
  const times = world.history.requests.map(({ at }) => at);
  expect(times).toHaveLength(30);
  const tookMs = Math.max(...times) - Math.min(...times);
  expect(tookMs).toBeGreaterThan(2_500);
  expect(tookMs).toBeLessThan(3_500);
});

itCatches({
  'that sends all requests at once': { by: 'rates_are_kept', seed: 0, among: inBursts, ...slotsNotSpaced },

  'that uses missed slots: delayed requests come in a burst': {
    by: 'rates_are_kept',
    seed: 0,
    among: withStalledQueue,
    ...writing(async (transition, { deliveries, clock }) => {
      const result = await deliveries.write(transition);
      if (result.kind !== 'written' || result.delivery.slot === undefined) return result;
      const { slot } = result.delivery;
      const at = Math.max(slot.at, clock.now());
      return transition.name === 'await_slot'
        ? result
        : { ...result, delivery: { ...result.delivery, slot: { ...slot, at } } };
    }),
  },

  'that moves all waiting deliveries to the front when the limit rises': {
    by: 'rates_are_kept',
    seed: 10,
    among: withChangingLimits,
    ports: (ports, context) =>
      context.actor.name.includes('moving up') ? (slotsNotSpaced.ports?.(ports, context) ?? ports) : ports,
  },

  'that records a waiting first attempt without its message': {
    by: 'the_body_is_kept',
    seed: 1,
    among: inBursts,
    ports: (ports) => {
      const { messageRecords, deliveries } = ports;
      const held: (() => Promise<unknown>)[] = [];
      const keepingLater = replaced(ports, 'messageRecords', {
        keepBody: (...asked) => {
          held.push(() => messageRecords.keepBody(...asked));
          return Promise.resolve('kept');
        },
      });
      return replaced(keepingLater, 'deliveries', {
        write: async (transition) => {
          const kept = held.splice(0);
          if (transition.name !== 'await_slot') for (const keep of kept) await keep();
          return await deliveries.write(transition);
        },
      });
    },
  },
});
