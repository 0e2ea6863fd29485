import { describe, expect, it } from 'vitest';
import type { HealthChange } from '../../shared/domain/subscription/health.ts';
import { aBarePolicy } from '../support/builders.ts';
import { seededChance } from '../support/chance.ts';
import { withNoisySubscriber, generateRefusals } from './generate-variants.ts';
import { generateScenario } from './generate-scenario.ts';
import { findingsIn, isCaught, withoutFaults } from './is-caught.ts';
import type { StepPorts } from './ports.ts';
import { runScenario } from './run-scenario.ts';
import { groupsForgotten } from './sabotage.ts';
import { DAY, HOUR, MINUTE, plainMessage, type PlannedRefusals, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

/** The ports with a replaced reading or health change. The port's methods as own properties, which a proxy lacks. */
const withSubscriptions = (ports: StepPorts, change: Partial<StepPorts['subscriptions']>): StepPorts => {
  const { subscriptions: port } = ports;
  return {
    ...ports,
    subscriptions: {
      page: (queue, freshness, after) => port.page(queue, freshness, after),
      find: (queue, id, freshness) => port.find(queue, id, freshness),
      disable: (queue, id, disabled, version) => port.disable(queue, id, disabled, version),
      changeHealth: (queue, id, wanted) => port.changeHealth(queue, id, wanted),
      ...change,
    },
  };
};

const withPressureChange = (changed: (change: HealthChange) => HealthChange | undefined): Sabotage => ({
  ports: (ports) =>
    withSubscriptions(ports, {
      changeHealth: (queue, id, wanted) => {
        const change = wanted.kind === 'pressure' ? changed(wanted) : wanted;
        return change === undefined
          ? Promise.resolve({ kind: 'refused', current: undefined })
          : ports.subscriptions.changeHealth(queue, id, change);
      },
    }),
});

/** The pressure is never recorded. */
const refusalsIgnored = withPressureChange(() => undefined);

/** A probe that is answered does not end the outage. */
const probesIgnored = withPressureChange((change) =>
  change.kind === 'pressure' && change.pressure.state === 'ramping' ? undefined : change,
);

/** A held subscriber lets all waiting deliveries try at once. */
const manyProbes: Sabotage = {
  ports: (ports) => ({
    ...ports,
    rateLimits: {
      reserve: (limited, limit, wanted) =>
        ports.rateLimits.reserve(limited, { ...limit, longestMs: DAY, intervalMs: 1 }, wanted),
      returnSlot: (limited, slot) => ports.rateLimits.returnSlot(limited, slot),
    },
  }),
};

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

const quietly = (scenario: Scenario): Scenario => withoutFaults(withNoisySubscriber(scenario));

describe('subscribers beside one with a backlog, on few concurrent invocations', () => {
  it('lose nothing, with any faults', async () => {
    expect(
      await findingsIn(15, (scenario) => ({ ...withNoisySubscriber(scenario), rates: scenario.rates })),
    ).toEqual([]);
  });

  it('are served by the first invocation that is over, without faults', async () => {
    expect(await findingsIn(30, quietly)).toEqual([]);
  });

  it('wait for the whole backlog if messages have no groups, and the simulation catches it', async () => {
    expect(await isCaught(groupsForgotten, 'nothing_late', 20, quietly)).toBe(true);
  });
});
