import { aBarePolicy } from '../support/builders.ts';
import { seededChance } from '../support/chance.ts';
import { generateScenario } from './generate-scenario.ts';
import { findingsIn, isCaught, withoutFaults } from './is-caught.ts';
import { runScenario } from './run-scenario.ts';
import { withWrite } from './sabotage.ts';
import { HOUR, MINUTE, plainMessage, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';
import { describe, expect, it } from 'vitest';

/** Every reservation returns a slot that is due now. */
const slotsNotSpaced: Sabotage = {
  ports: (ports) => ({
    ...ports,
    rateLimits: {
      ...ports.rateLimits,
      reserve: (_limited, { epoch }) => Promise.resolve({ at: ports.clock.now(), epoch }),
    },
  }),
};

/** Every delivery that moves up gets a slot that is due now. */
const movedUpWithoutSpacing: Sabotage = {
  ports: (ports, context) =>
    context.actor.name.includes('moving up') ? (slotsNotSpaced.ports?.(ports, context) ?? ports) : ports,
};

/** A missed slot is used as if it were due now. */
const missedSlotsUsed: Sabotage = {
  ports: (ports) =>
    withWrite(ports, async (transition) => {
      const result = await ports.deliveries.write(transition);
      if (result.kind !== 'written' || result.delivery.slot === undefined) return result;
      const { slot } = result.delivery;
      const at = Math.max(slot.at, ports.clock.now());
      return transition.name === 'await_slot'
        ? result
        : { ...result, delivery: { ...result.delivery, slot: { ...slot, at } } };
    }),
};

/** A waiting first attempt is recorded without its message. */
const waitsWithoutMessage: Sabotage = {
  ports: (ports) => {
    const held: (() => Promise<unknown>)[] = [];
    const { messageRecords, deliveries } = ports;
    const keepingLater = {
      ...ports,
      messageRecords: {
        accept: messageRecords.accept.bind(messageRecords),
        addPart: messageRecords.addPart.bind(messageRecords),
        find: messageRecords.find.bind(messageRecords),
        eraseBody: messageRecords.eraseBody.bind(messageRecords),
        keepBody: (...asked: Parameters<typeof messageRecords.keepBody>) => {
          held.push(() => messageRecords.keepBody(...asked));
          return Promise.resolve('kept' as const);
        },
      },
    };
    return withWrite(keepingLater, async (transition) => {
      const kept = held.splice(0);
      if (transition.name !== 'await_slot') for (const keep of kept) await keep();
      return await deliveries.write(transition);
    });
  },
};

const RATES = [0.1, 0.5, 1, 3, 7, 10];

/** Sixty messages at once to rate-limited subscribers that sometimes fail; no other faults than the seed's. */
const inBursts = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, attemptTimeoutMs: 15_000, disableFailingAfterMs: 0 },
  subscriptions: scenario.subscriptions.slice(0, 2).map((one, index) => ({
    ...one,
    at: -HOUR,
    ttlSeconds: undefined,
    interests: {},
    confirmation: undefined,
    maxPerSecond: RATES[(scenario.seed + index) % RATES.length],
    policy: {
      retries_with_no_delay: 2,
      minimum_delay_retries: 1,
      minimum_delay: 1,
      backoff_retries: 0,
      maximum_delay_retries: 0,
    },
    answers: {
      first: scenario.seed % 2 === 0 ? [] : [{ takesMs: 50, response: { status: 500 } }],
      then: { takesMs: 50, response: { status: 200 } },
    },
  })),
  messages: Array.from({ length: 60 }, (_, index) => plainMessage(`m${index}`, index % 3)),
  changes: [],
  interventions: [],
  throttles: [],
  calmAt: 10 * MINUTE,
});

/** The retry queue stalls for a minute, then delivers all wake-ups at once. */
const withStalledQueue = (scenario: Scenario): Scenario => ({
  ...inBursts(scenario),
  rates: { calls: 0, messages: 0 },
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

/** Each rate with subscribers that fail and that do not. */
const CORRECT_RUNS = 2 * RATES.length;

describe('a backlog for rate-limited subscribers', () => {
  it.each([
    ['with any faults', inBursts],
    ['after a queue stalled', withStalledQueue],
    ['while the limits change', withChangingLimits],
  ])('drains at the limit without losses, %s', async (_, adapted) => {
    expect(await findingsIn(CORRECT_RUNS, adapted)).toEqual([]);
  });

  it('drains as fast as the limit allows without faults', async () => {
    const scenario = { ...withoutFaults(inBursts(generateScenario(6))), skewMs: 0 };
    const [subscription] = scenario.subscriptions;
    const only = subscription === undefined ? [] : [{ ...subscription, maxPerSecond: 10 }];
    const { world } = await runScenario({ ...scenario, subscriptions: only });
    const times = world.history.requests.map(({ at }) => at);
    expect(times).toHaveLength(60);
    const tookMs = Math.max(...times) - Math.min(...times);
    expect(tookMs).toBeGreaterThan(5_500);
    expect(tookMs).toBeLessThan(6_500);
  });
});

describe('the simulation catches a pipeline', () => {
  it('that sends all requests at once', async () => {
    expect(await isCaught(slotsNotSpaced, 'rates_are_kept', 10, inBursts)).toBe(true);
  });

  it('that uses missed slots: delayed requests come in a burst', async () => {
    expect(await isCaught(missedSlotsUsed, 'rates_are_kept', 10, withStalledQueue)).toBe(true);
  });

  it('that moves all waiting deliveries to the front when the limit rises', async () => {
    expect(await isCaught(movedUpWithoutSpacing, 'rates_are_kept', 10, withChangingLimits)).toBe(true);
  });

  it('that records a waiting first attempt without its message', async () => {
    expect(await isCaught(waitsWithoutMessage, 'the_body_is_kept', 10, inBursts)).toBe(true);
  });
});
