import type { MessageRecord } from '../../shared/ports/messages.ts';
import { withPart } from '../support/in-memory/in-memory-messages.ts';
import { itAccepts, itCatches, replaced, replacing } from './sabotage.ts';
import {
  answering,
  CALM,
  HOUR,
  MINUTE,
  plainPair,
  type PlannedSubscription,
  type Scenario,
  SECOND,
  UNSELECTIVE,
} from './scenario.ts';

/**
 * A message to ten subscriptions, four per page, with frequent crashes; the last ones subscribe just after it
 * arrives.
 */
const crashingBetweenPages = (scenario: Scenario): Scenario => {
  const { subscription: template, message } = plainPair(scenario);
  const subscription = (index: number, at: number): PlannedSubscription => ({
    ...template,
    ...UNSELECTIVE,
    id: `p${index}`,
    at,
    failures: 0,
    answers: { first: [], then: answering(200) },
  });
  return {
    ...scenario,
    ...CALM,
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
        delaySeconds: undefined,
        repeats: [{ at: MINUTE + SECOND }, { at: MINUTE + 20 * SECOND }],
      },
    ],
    rates: { calls: 0.2, messages: 0 },
    calmAt: MINUTE + 3 * SECOND,
    confirmsSubscriptions: false,
    skewMs: 0,
  };
};

itCatches({
  'that records a page before the jobs of the previous one were sent: a crash loses that one': {
    by: 'everything_ends',
    seed: 149,
    ports: (ports) => {
      const { deliveryQueue, messageRecords } = ports;
      let hasMore = false;
      let delayedSend: (() => Promise<void>) | undefined;
      const seen = (record: MessageRecord | undefined): void => {
        hasMore = record?.lastSubscriptionId !== undefined;
      };
      const recording = replaced(ports, 'messageRecords', {
        accept: async (record, sentAt) => {
          const result = await messageRecords.accept(record, sentAt);
          seen(result.record);
          return result;
        },
        addPart: async (record, next) => {
          const result = await messageRecords.addPart(record, next);
          seen(result.kind === 'added' ? result.record : result.current);
          const send = delayedSend;
          delayedSend = undefined;
          await send?.();
          return result;
        },
      });
      return replaced(recording, 'deliveryQueue', {
        send: async (...args) => {
          if (hasMore && delayedSend === undefined) delayedSend = () => deliveryQueue.send(...args);
          else await deliveryQueue.send(...args);
        },
      });
    },
  },

  'that records a page after its jobs: a crash duplicates deliveries in another bucket': {
    by: 'duplicates_are_explained',
    seed: 180,
    among: crashingBetweenPages,
    ports: (ports) => {
      const { deliveryQueue, messageRecords } = ports;
      let delayed: (() => Promise<unknown>) | undefined;
      const recording = replaced(ports, 'messageRecords', {
        addPart: (record, next) => {
          delayed = () => messageRecords.addPart(record, next);
          return Promise.resolve(withPart(record, record, next));
        },
      });
      return replaced(recording, 'deliveryQueue', {
        send: async (...args) => {
          await deliveryQueue.send(...args);
          const record = delayed;
          delayed = undefined;
          await record?.();
        },
      });
    },
  },

  'that matches a repeated page by the time of its read: later subscriptions receive the message': {
    by: 'only_matches_get_a_message',
    seed: 7,
    ...replacing('messageRecords', (records, { clock }) => ({
      accept: async (record, sentAt) => {
        const result = await records.accept(record, sentAt);
        return { ...result, record: { ...result.record, listedAt: clock.now() } };
      },
    })),
  },
});

itAccepts(300, { 'if dispatch crashes between pages': crashingBetweenPages });
