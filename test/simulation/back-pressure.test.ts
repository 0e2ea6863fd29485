import { describe, expect, it } from 'vitest';
import { aBarePolicy } from '../support/builders.ts';
import { seededChance } from '../support/chance.ts';
import { generateRefusals } from './generate-refusals.ts';
import { generateScenario } from './generate-scenario.ts';
import { findingsIn, isCaught, withoutFaults } from './is-caught.ts';
import { runScenario } from './run-scenario.ts';
import { manyProbes, probesIgnored, refusalsIgnored } from './sabotage-pressure.ts';
import { HOUR, MINUTE, plainMessage, SECOND, type PlannedRefusals, type Scenario } from './scenario.ts';

/** Thirty messages within fifteen seconds to one subscriber that refuses, and one that takes everything. */
const toSubscribersThat =
  (refusesOf: (seed: number) => PlannedRefusals) =>
  (scenario: Scenario): Scenario => ({
    ...scenario,
    settings: {
      ...scenario.settings,
      attemptTimeoutMs: 15_000,
      disableFailingAfterMs: 0,
      retryAfterCapMs: MINUTE,
      adaptToThrottling: true,
      holdWhileDown: true,
    },
    queuePolicy: undefined,
    confirmsSubscriptions: false,
    subscriptions: [refusesOf(scenario.seed), undefined].map((refuses, index) => ({
      id: `s${index}`,
      at: -HOUR,
      policy: { ...aBarePolicy({ minimum_delay_retries: 5 }), minimum_delay: 5, retry_on_status: [429] },
      ttlSeconds: undefined,
      rawDelivery: false,
      maxPerSecond: undefined,
      interests: {},
      confirmation: undefined,
      failures: 0,
      answers: {
        first: [],
        then: { takesMs: 50, response: { status: 200 } },
        ...(refuses === undefined ? {} : { refuses }),
      },
    })),
    messages: Array.from({ length: 30 }, (_, index) => plainMessage(`m${index}`, (index * SECOND) / 2)),
    changes: [],
    interventions: [],
    throttles: [],
    standstills: [],
    calmAt: 10 * MINUTE,
  });

const refusing = toSubscribersThat((seed) => generateRefusals(seededChance(seed), MINUTE));
const throttling = toSubscribersThat(() => ({ perSecond: 1, retryAfter: '2' }));
const down = toSubscribersThat(() => ({
  outages: [{ from: 0, to: 5 * MINUTE, answer: { takesMs: 2_000, response: { status: 503 } } }],
}));

describe('subscribers that refuse requests', () => {
  it('lose nothing and get nothing too early, with any faults', async () => {
    expect(await findingsIn(40, refusing)).toEqual([]);
  });

  it('do not delay other subscribers of the same messages', async () => {
    const { world } = await runScenario(withoutFaults({ ...down(generateScenario(3)), skewMs: 0 }));
    const lateMs = world.history.requests
      .filter(({ delivery }) => delivery.endsWith('/s1'))
      .map(
        ({ at, webhookId }) =>
          at - (world.history.acceptances.find(({ record }) => record.key.messageId === webhookId)?.at ?? 0),
      );
    expect(lateMs).toHaveLength(30);
    expect(Math.max(...lateMs)).toBeLessThan(2 * SECOND);
  });
});

describe('the simulation catches a pipeline', () => {
  it('that does not hear a refusal', async () => {
    expect(await isCaught(refusalsIgnored, 'refusals_are_heard', 10, throttling)).toBe(true);
  });

  it('that does not hear that a subscriber is back', async () => {
    expect(await isCaught(probesIgnored, 'answers_are_heard', 10, down)).toBe(true);
  });

  it('that sends many probes to a subscriber that is down', async () => {
    expect(await isCaught(manyProbes, 'one_probe_at_a_time', 10, down)).toBe(true);
  });
});
