import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { StepPorts } from './ports.ts';
import { itAccepts, itCatches, onlyWith, replacing, withoutFaults } from './sabotage.ts';
import { answering, HOUR, type Intervention, MINUTE, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

const lastOfPageForgotten: Sabotage = replacing('deliveryListings', (listings) => ({
  oldest: async (selection, request) => {
    const page = await listings.oldest(selection, request);
    return { ...page, items: page.items.slice(0, -1) };
  },
}));

/** Receivers that reject at once and are recovered repeatedly while operate keeps crashing. */
const recoveredDuringCrashes = (scenario: Scenario): Scenario => ({
  ...scenario,
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    maxPerSecond: undefined,
    answers: { first: [], then: answering(400) },
  })),
  interventions: [3, 6, 9, 12].map((minutes) => ({
    at: minutes * MINUTE,
    kind: 'recover',
    subscriptionId: undefined,
  })),
  changes: [],
  rates: { calls: 0.1, messages: 0.1 },
  calmAt: 30 * MINUTE,
});

const isDeleted = onlyWith(({ changes }) => changes.some(({ kind }) => kind === 'subscription_deleted'));

/** Sends every message to every subscription, during its first attempts, soon after, and again much later. */
const withSends = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, retainMessages: 'all' },
  interventions: scenario.messages.flatMap((message) =>
    scenario.subscriptions.flatMap(({ id }): Intervention[] =>
      [2 * SECOND, 3 * MINUTE, 3 * MINUTE, 5 * HOUR].map((afterMs) => ({
        kind: 'send',
        messageId: message.id,
        subscriptionId: id,
        at: message.at + afterMs,
      })),
    ),
  ),
});

/** Creates the record alone. */
const sent = async ({ deliveries }: StepPorts, delivery: Delivery): Promise<'added' | 'refused'> => {
  const { key } = delivery;
  const result = await deliveries.write({ name: 'send', key, expect: { kind: 'absent' }, create: delivery });
  return result.kind === 'written' ? 'added' : 'refused';
};

itCatches({
  'whose recovery skips a delivery': { by: 'recoveries_include_all', seed: 2, ...lastOfPageForgotten },

  'whose cancellation skips a delivery, which waits for its next attempt': {
    by: 'deletions_cancel',
    seed: 54,
    among: (scenario) => isDeleted(withoutFaults(scenario)),
    ...lastOfPageForgotten,
  },

  'that does not record the batch of a recovery: a crash skips deliveries': {
    by: 'recoveries_include_all',
    seed: 7,
    ...replacing('recoveries', (recoveries) => ({
      save: (recovery) => recoveries.save({ ...recovery, batch: [] }),
    })),
  },

  'that does not store a page whole: the outcomes of the recovery lack deliveries': {
    by: 'recoveries_prove',
    seed: 28,
    ...replacing('recoveries', (recoveries) => ({
      keepPage: (recovery) => recoveries.keepPage({ ...recovery, batch: recovery.batch.slice(0, -1) }),
    })),
  },

  'that makes only one pass after a deletion: the marked subscription is not removed': {
    by: 'deleted_subscriptions_are_removed',
    seed: 2,
    ...replacing('operations', (operations) => ({
      send: (operation, delaySeconds = 0) =>
        operation.kind === 'cancellation' && operation.subscriptionId !== undefined && delaySeconds > 0
          ? Promise.resolve()
          : operations.send(operation, delaySeconds),
    })),
  },

  'whose deliveries do not store their recovery: they are reopened twice': {
    by: 'once_per_recovery',
    seed: 0,
    among: recoveredDuringCrashes,
    ...replacing('deliveries', (_port, _ports, { deliveries }) => ({
      find: (key) => {
        const found = deliveries.find(key);
        return Promise.resolve(found && { ...found, recoveries: [] });
      },
    })),
  },

  'whose manual send does not count its delivery': {
    by: 'matched_count_is_right',
    seed: 0,
    among: withSends,
    ...replacing('chunks', (_chunks, ports) => ({ add: (delivery) => sent(ports, delivery) })),
  },

  'whose manual send counts its delivery before it is recorded: a crash leaves the books wrong': {
    by: 'matched_count_is_right',
    seed: 7,
    among: withSends,
    ...replacing('chunks', (_chunks, ports, { countMatch }) => ({
      add: (delivery) => {
        countMatch(delivery);
        return sent(ports, delivery);
      },
    })),
  },
});

itAccepts(30, {
  'if operate crashes during recoveries': recoveredDuringCrashes,
  'if every message is sent by hand': withSends,
});
