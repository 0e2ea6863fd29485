import { expect, it } from 'vitest';
import type { HealthChange } from '../../shared/domain/subscription/health.ts';
import { aBarePolicy } from '../support/builders.ts';
import { seededChance } from '../support/chance.ts';
import { withNoisySubscriber, generateRefusals } from './generate-variants.ts';
import { generateScenario } from './generate-scenario.ts';
import { runScenario } from './run-scenario.ts';
import { itAccepts, itCatches, replacing, withoutFaults } from './sabotage.ts';
import {
  answering,
  CALM,
  DAY,
  MINUTE,
  plainMessage,
  plainSubscription,
  type PlannedRefusals,
  type Scenario,
  SECOND,
} from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

const changingPressure = (changed: (change: HealthChange) => HealthChange | undefined): Sabotage =>
  replacing('subscriptions', (subscriptions) => ({
    changeHealth: (queue, id, wanted) => {
      const change = wanted.kind === 'pressure' ? changed(wanted) : wanted;
      return change === undefined
        ? Promise.resolve({ kind: 'refused', current: undefined })
        : subscriptions.changeHealth(queue, id, change);
    },
  }));

/** Thirty messages within fifteen seconds to one subscriber that refuses, and one that takes everything. */
const toSubscribersThat =
  (refusesOf: (seed: number) => PlannedRefusals) =>
  (scenario: Scenario): Scenario => ({
    ...scenario,
    ...CALM,
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
      ...plainSubscription(`s${index}`),
      policy: { ...aBarePolicy({ minimum_delay_retries: 5 }), minimum_delay: 5, retry_on_status: [429] },
      answers: { first: [], then: answering(200, 50), ...(refuses && { refuses }) },
    })),
    messages: Array.from({ length: 30 }, (_, index) => plainMessage(`m${index}`, (index * SECOND) / 2)),
    calmAt: 10 * MINUTE,
  });

const refusing = toSubscribersThat((seed) => generateRefusals(seededChance(seed), MINUTE));
const throttling = toSubscribersThat(() => ({ perSecond: 1, retryAfter: '2' }));
const down = toSubscribersThat(() => ({
  outages: [{ from: 0, to: 5 * MINUTE, answer: answering(503, 2_000) }],
}));

const quietly = (scenario: Scenario): Scenario => withoutFaults(withNoisySubscriber(scenario));

itAccepts(12, { 'if subscribers refuse requests, with any faults': refusing });

itAccepts(6, {
  'if subscribers wait beside one with a backlog, on few concurrent invocations, with any faults': (
    scenario,
  ) => ({ ...withNoisySubscriber(scenario), rates: scenario.rates }),
  'if the first invocation that is over has to serve them, without faults': quietly,
});

itCatches({
  'that does not hear a refusal': {
    by: 'refusals_are_heard',
    seed: 0,
    among: throttling,
    ...changingPressure(() => undefined),
  },

  'that does not hear that a subscriber is back': {
    by: 'answers_are_heard',
    seed: 0,
    among: down,
    ...changingPressure((change) =>
      change.kind === 'pressure' && change.pressure.state === 'ramping' ? undefined : change,
    ),
  },

  'that sends many probes to a subscriber that is down': {
    by: 'one_probe_at_a_time',
    seed: 0,
    among: down,
    ...replacing('rateLimits', (rateLimits) => ({
      reserve: (limited, limit, wanted) =>
        rateLimits.reserve(limited, { ...limit, longestMs: DAY, intervalMs: 1 }, wanted),
    })),
  },

  'that sends messages without their groups: all wait for the backlog of one subscriber': {
    by: 'nothing_late',
    seed: 4,
    among: quietly,
    groupOf: () => undefined,
  },
});

it('a subscriber that is down does not delay other subscribers of the same messages', async () => {
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
