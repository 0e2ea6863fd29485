import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import { itAccepts, itCatches, replacing } from './sabotage.ts';
import { answering, HOUR, MINUTE, NO_FAULTS, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

type ChangeHealth = Subscriptions['changeHealth'];

const changingHealth = (
  changed: (changeHealth: ChangeHealth, ...given: Parameters<ChangeHealth>) => ReturnType<ChangeHealth>,
): Sabotage =>
  replacing('subscriptions', (subscriptions) => ({
    changeHealth: (...given) => changed((...wanted) => subscriptions.changeHealth(...wanted), ...given),
  }));

/** Receivers that respond slowly with 410 and are changed or enabled during the request. */
const repairedDuringRequests = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, attemptTimeoutMs: 15_000 },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    at: -HOUR,
    answers: { first: [answering(500, 14_000)], then: answering(410, 14_000) },
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
    answers: { first: [], then: answering(500) },
  })),
  // Many would take thousands of requests.
  messages: scenario.messages.slice(0, 2),
  changes: [],
  standstills: [],
  rates: NO_FAULTS,
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
    answers: { first: [answering(500)], then: answering(200) },
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

itCatches({
  'that ignores successes: it disables a subscription that is not failing': {
    by: 'disabled_as_failing',
    seed: 7,
    among: recoveringAfterEachFailure,
    ...changingHealth((changeHealth, queue, id, change) =>
      change.kind === 'recover'
        ? Promise.resolve({ kind: 'refused', current: undefined })
        : changeHealth(queue, id, change),
    ),
  },

  'that counts all failures of a burst: it disables before operators could react': {
    by: 'disabled_as_failing',
    seed: 0,
    among: failingInBursts,
    ...changingHealth((changeHealth, queue, id, change) => {
      if (change.kind !== 'count') return changeHealth(queue, id, change);
      const { since, failures } = change.failing;
      return changeHealth(queue, id, { ...change, failing: { since, failures } });
    }),
  },

  'that ignores which URL an attempt called: it disables a repaired subscription': {
    by: 'health_matches_responses',
    seed: 0,
    among: repairedDuringRequests,
    ...replacing('subscriptions', (subscriptions) => {
      const versionNow = async (queue: string, id: string) => {
        const { subscription } = await subscriptions.find(queue, id, 'fresh');
        return subscription?.version === undefined ? {} : { version: subscription.version };
      };
      return {
        disable: async (queue, id, disabled) =>
          subscriptions.disable(queue, id, disabled, (await versionNow(queue, id)).version),
        changeHealth: async (queue, id, change) =>
          subscriptions.changeHealth(
            queue,
            id,
            change.kind === 'sent' ? change : { ...change, ...(await versionNow(queue, id)) },
          ),
      };
    }),
  },

  'that removes a pending event before sending it: a crash loses it': {
    by: 'operators_are_notified',
    seed: 27,
    ...changingHealth(async (changeHealth, queue, id, change) => {
      const result = await changeHealth(queue, id, change);
      if (result.kind === 'refused' || change.kind === 'sent') return result;
      const { unsent } = result.subscription;
      if (unsent !== undefined) await changeHealth(queue, id, { kind: 'sent', unsent });
      return result;
    }),
  },
});

itAccepts(30, {
  'if subscriptions are repaired during requests': repairedDuringRequests,
  'if failures come in bursts': failingInBursts,
  'if subscribers recover after each failure': recoveringAfterEachFailure,
});
