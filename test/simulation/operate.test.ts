import { describe, expect, it } from 'vitest';
import type { Chunks, DeliveryListings, Recoveries } from '../../shared/ports/deliveries.ts';
import { findingsIn, isCaught, onlyWith, withoutFaults } from './is-caught.ts';
import type { StepPorts } from './ports.ts';
import { recoveryForgotten } from './sabotage.ts';
import { HOUR, type Intervention, MINUTE, type Scenario, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

const withOldest = (ports: StepPorts, oldest: DeliveryListings['oldest']): StepPorts => {
  const { deliveryListings } = ports;
  return {
    ...ports,
    deliveryListings: {
      oldest,
      newest: (selection, page) => deliveryListings.newest(selection, page),
      records: (keys) => deliveryListings.records(keys),
      ofMessage: (message, page) => deliveryListings.ofMessage(message, page),
      tally: (message, buckets) => deliveryListings.tally(message, buckets),
    },
  };
};

/** Each page lacks its last delivery. */
const lastOfPageForgotten: Sabotage = {
  ports: (ports) =>
    withOldest(ports, async (selection, request) => {
      const page = await ports.deliveryListings.oldest(selection, request);
      return { ...page, items: page.items.slice(0, -1) };
    }),
};

const withRecoveries = (
  ports: StepPorts,
  { save, keepPage }: Partial<Pick<Recoveries, 'save' | 'keepPage'>>,
): StepPorts => {
  const { recoveries } = ports;
  return {
    ...ports,
    recoveries: {
      create: (recovery) => recoveries.create(recovery),
      find: (queue, id) => recoveries.find(queue, id),
      list: (queue, page) => recoveries.list(queue, page),
      save: save ?? ((recovery) => recoveries.save(recovery)),
      keepPage: keepPage ?? ((recovery) => recoveries.keepPage(recovery)),
      keptPages: (queue, id, page) => recoveries.keptPages(queue, id, page),
    },
  };
};

/** The record does not store the batch of a recovery. */
const pageNotOnRecord: Sabotage = {
  ports: (ports) =>
    withRecoveries(ports, { save: (recovery) => ports.recoveries.save({ ...recovery, batch: [] }) }),
};

/** A page is stored without its last delivery. */
const pageKeptInPart: Sabotage = {
  ports: (ports) =>
    withRecoveries(ports, {
      keepPage: (recovery) => ports.recoveries.keepPage({ ...recovery, batch: recovery.batch.slice(0, -1) }),
    }),
};

/** The second pass of a cancellation is not sent. */
const secondPassForgotten: Sabotage = {
  ports: (ports) => ({
    ...ports,
    operations: {
      send: (operation, delaySeconds) =>
        operation.kind === 'cancellation' && operation.subscriptionId !== undefined && (delaySeconds ?? 0) > 0
          ? Promise.resolve()
          : ports.operations.send(operation, delaySeconds),
    },
  }),
};

/** Receivers that reject at once and are recovered repeatedly while operate keeps crashing. */
const recoveredDuringCrashes = (scenario: Scenario): Scenario => ({
  ...scenario,
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    maxPerSecond: undefined,
    answers: { first: [], then: { takesMs: 100, response: { status: 400 } } },
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

const deletedWithoutFaults = (scenario: Scenario): Scenario | undefined => isDeleted(withoutFaults(scenario));

describe('the simulation catches an operate function', () => {
  it('whose recovery skips a delivery', async () => {
    expect(await isCaught(lastOfPageForgotten, 'recoveries_include_all', 300)).toBe(true);
  });

  it('whose cancellation skips a delivery, which waits for its next attempt', async () => {
    expect(await isCaught(lastOfPageForgotten, 'deletions_cancel', 500, deletedWithoutFaults)).toBe(true);
  });

  it('that does not record its batch: a crash skips deliveries', async () => {
    expect(await isCaught(pageNotOnRecord, 'recoveries_include_all', 300)).toBe(true);
  });

  it('that does not store a page whole: the outcomes of the recovery lack deliveries', async () => {
    expect(await isCaught(pageKeptInPart, 'recoveries_prove', 300)).toBe(true);
  });

  it('that makes only one pass after a deletion: the marked subscription is not removed', async () => {
    expect(await isCaught(secondPassForgotten, 'deleted_subscriptions_are_removed', 300)).toBe(true);
  });

  it('whose deliveries do not store their recovery: they are reopened twice', async () => {
    expect(await isCaught(recoveryForgotten, 'once_per_recovery', 300, recoveredDuringCrashes)).toBe(true);
  });

  it('and finds nothing in the correct one during recoveries with crashes', async () => {
    expect(await findingsIn(60, recoveredDuringCrashes)).toEqual([]);
  });
});

/** Runs of the correct pipeline. */
const CORRECT_RUNS = 60;

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

const withAdd = (ports: StepPorts, add: Chunks['add']): StepPorts => {
  const { chunks } = ports;
  return {
    ...ports,
    chunks: {
      write: (transition) => chunks.write(transition),
      find: (key) => chunks.find(key),
      takeOut: (transition, delivery) => chunks.takeOut(transition, delivery),
      add,
    },
  };
};

/** The delivery is recorded, but its message does not count it. */
const addedWithoutCount: Sabotage = {
  ports: (ports) =>
    withAdd(ports, async (delivery) => {
      const { key } = delivery;
      const sending = { name: 'send', key, expect: { kind: 'absent' }, create: delivery } as const;
      return (await ports.deliveries.write(sending)).kind === 'written' ? 'added' : 'refused';
    }),
};

/** The message counts a delivery whose record comes second, and may not come. */
const countedBeforeAdded: Sabotage = {
  ports: (ports, { countMatch }) =>
    withAdd(ports, async (delivery) => {
      countMatch(delivery);
      const { key } = delivery;
      const sending = { name: 'send', key, expect: { kind: 'absent' }, create: delivery } as const;
      return (await ports.deliveries.write(sending)).kind === 'written' ? 'added' : 'refused';
    }),
};

describe('the simulation catches a manual send', () => {
  it.each([
    ['does not count its delivery', addedWithoutCount],
    ['counts its delivery before it is recorded: a crash leaves the books wrong', countedBeforeAdded],
  ])('that %s', async (_what, sabotage) => {
    expect(await isCaught(sabotage, 'matched_count_is_right', 300, withSends)).toBe(true);
  });

  it('and finds nothing in the correct one', async () => {
    expect(await findingsIn(CORRECT_RUNS, withSends)).toEqual([]);
  });
});
