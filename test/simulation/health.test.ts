import { describe, expect, it } from 'vitest';
import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import { findingsIn, isCaught } from './is-caught.ts';
import type { StepPorts } from './ports.ts';
import { HOUR, MINUTE, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

/** The port's methods as own properties, which a proxy does not have. */
const portOf = (port: Subscriptions): Subscriptions => ({
  page: (...given) => port.page(...given),
  find: (queue, id, freshness) => port.find(queue, id, freshness),
  disable: (queue, id, disabled, version) => port.disable(queue, id, disabled, version),
  changeHealth: (queue, id, change) => port.changeHealth(queue, id, change),
});

const withHealth = (ports: StepPorts, changeHealth: Subscriptions['changeHealth']): StepPorts => ({
  ...ports,
  subscriptions: { ...portOf(ports.subscriptions), changeHealth },
});

/** Successes do not change the health. */
const successesIgnored: Sabotage = {
  ports: (ports) =>
    withHealth(ports, (queue, id, change) =>
      change.kind === 'recover'
        ? Promise.resolve({ kind: 'refused', current: undefined })
        : ports.subscriptions.changeHealth(queue, id, change),
    ),
};

/** Health changes apply to the current subscription, even if the attempt read an older one. */
const staleHealthAccepted: Sabotage = {
  ports: (ports) => {
    const port = ports.subscriptions;
    const versionNow = async (queue: string, id: string) => {
      const { subscription } = await port.find(queue, id, 'fresh');
      return subscription?.version === undefined ? {} : { version: subscription.version };
    };
    return {
      ...ports,
      subscriptions: {
        ...portOf(port),
        disable: async (queue, id, disabled) =>
          port.disable(queue, id, disabled, (await versionNow(queue, id)).version),
        changeHealth: async (queue, id, change) =>
          port.changeHealth(
            queue,
            id,
            change.kind === 'sent' ? change : { ...change, ...(await versionNow(queue, id)) },
          ),
      },
    };
  },
};

/** All failures count, even within one minute. */
const burstsCounted: Sabotage = {
  ports: (ports) =>
    withHealth(ports, (queue, id, change) => {
      if (change.kind !== 'count') return ports.subscriptions.changeHealth(queue, id, change);
      const { since, failures } = change.failing;
      return ports.subscriptions.changeHealth(queue, id, { ...change, failing: { since, failures } });
    }),
};

/** A pending event is removed before it is sent. */
const eventRemovedBeforeSending: Sabotage = {
  ports: (ports) =>
    withHealth(ports, async (queue, id, change) => {
      const result = await ports.subscriptions.changeHealth(queue, id, change);
      if (result.kind === 'refused' || change.kind === 'sent') return result;
      const { unsent } = result.subscription;
      if (unsent !== undefined) await ports.subscriptions.changeHealth(queue, id, { kind: 'sent', unsent });
      return result;
    }),
};

/** Receivers that respond slowly with 410 and are changed or enabled during the request. */
const repairedDuringRequests = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, attemptTimeoutMs: 15_000 },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    at: -HOUR,
    answers: {
      first: [{ takesMs: 14_000, response: { status: 500 } }],
      then: { takesMs: 14_000, response: { status: 410 } },
    },
  })),
  changes: scenario.subscriptions.flatMap(({ id }) =>
    [5, 20, 35, 50, 65].map((seconds) => ({
      at: seconds * SECOND,
      ...(seconds % 30 === 5
        ? { kind: 'subscription_enabled' as const }
        : { kind: 'subscription_url' as const, hasNewOrigin: false }),
      id,
    })),
  ),
});

/** Permanently failing receivers whose failures come within minutes, long after a first one. */
const failingInBursts = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, disableFailingAfterMs: HOUR },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    at: -HOUR,
    failures: 19,
    policy: { retries_with_no_delay: 9, minimum_delay_retries: 10, minimum_delay: 10, maximum_delay: 10 },
    answers: { first: [], then: { takesMs: 100, response: { status: 500 } } },
  })),
  changes: [],
  standstills: [],
  rates: { calls: 0, messages: 0 },
  calmAt: 5 * MINUTE,
});

/** Receivers that fail each message once, 90 minutes apart, after an hour of failures: never two hours in a row. */
const recoveringAfterEachFailure = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, disableFailingAfterMs: 2 * HOUR },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    at: -HOUR,
    ttlSeconds: undefined,
    failures: 30,
    policy: { retries_with_no_delay: 0, minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 },
    answers: {
      first: [{ takesMs: 100, response: { status: 500 } }],
      then: { takesMs: 100, response: { status: 200 } },
    },
  })),
  messages: scenario.messages.map((one, index) => ({
    ...one,
    at: 90 * index * MINUTE,
    ttlSeconds: undefined,
    repeats: [],
  })),
  changes: [],
  interventions: [],
});

describe('the simulation catches a pipeline', () => {
  it('that ignores successes: it disables a subscription that is not failing', async () => {
    expect(await isCaught(successesIgnored, 'disabled_as_failing', 300, recoveringAfterEachFailure)).toBe(
      true,
    );
  });

  it('that counts bursts of failures: it disables before operators could react', async () => {
    expect(await isCaught(burstsCounted, 'disabled_as_failing', 300, failingInBursts)).toBe(true);
  });

  it('that ignores which URL an attempt called: it disables a repaired subscription', async () => {
    expect(await isCaught(staleHealthAccepted, 'health_matches_responses', 300, repairedDuringRequests)).toBe(
      true,
    );
  });

  it('that removes a pending event before sending it: a crash loses it', async () => {
    expect(await isCaught(eventRemovedBeforeSending, 'operators_are_notified', 3_000)).toBe(true);
  });

  it.each([
    ['subscriptions are repaired during requests', repairedDuringRequests],
    ['failures come in bursts', failingInBursts],
    ['subscribers recover after each failure', recoveringAfterEachFailure],
  ])('and finds nothing in the correct one when %s', async (_, adapted) => {
    expect(await findingsIn(60, adapted)).toEqual([]);
  });
});
