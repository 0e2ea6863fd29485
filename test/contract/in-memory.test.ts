import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { inMemoryDeliveries } from '../support/in-memory/in-memory-deliveries.ts';
import {
  inMemoryPullSubscriptions,
  inMemorySubscriptions,
} from '../support/in-memory/in-memory-subscriptions.ts';
import { inMemoryEventTypes } from '../support/in-memory/in-memory-event-types.ts';
import { inMemoryQueueStatistics } from '../support/in-memory/in-memory-queue-statistics.ts';
import {
  inMemoryDeadLetterQueue,
  inMemoryDeadLetters,
  inMemoryDeliveryQueue,
  inMemoryIngress,
  inMemoryUndeliverables,
  type PublishedMessage,
  inMemoryWakeUps,
} from '../support/in-memory/in-memory-queues.ts';
import { inMemoryPortalSessions } from '../support/in-memory/in-memory-portal-sessions.ts';
import { inMemoryRecoveries } from '../support/in-memory/in-memory-recoveries.ts';
import { inMemoryReferencedData } from '../support/in-memory/in-memory-referenced-data.ts';
import { inMemorySecrets } from '../support/in-memory/in-memory-secrets.ts';
import { virtualClock } from '../support/in-memory/virtual-clock.ts';
import { modelledSqs, sideBySide } from '../support/modelled-sqs.ts';
import { describePayloadsContract, describeReferencedDataContract } from './bodies.contract.ts';
import { describeChunksContract } from './chunks.contract.ts';
import { describeDeliveriesContract, describeOverdueDeliveriesContract } from './deliveries.contract.ts';
import { describeEventTypesContract } from './event-types.contract.ts';
import { describeDeliveryListingsContract, describeMessageListingsContract } from './listings.contract.ts';
import { describeMessageRecordsContract } from './message-records.contract.ts';
import { describeOperatorEventsContract } from './operator-events.contract.ts';
import { describePortalSessionsContract } from './portal-sessions.contract.ts';
import { describeQueueStatisticsContract } from './queue-statistics.contract.ts';
import {
  describeDeadLetterQueueContract,
  describeDeadLettersContract,
  describeDeliveryQueueContract,
  describeIngressContract,
  describeUndeliverablesContract,
  describeWakeUpsContract,
  noticeOf,
} from './queues.contract.ts';
import { describeCountingWindowsContract, describeRateLimitsContract } from './rate-limits.contract.ts';
import { describeRecoveriesContract } from './recoveries.contract.ts';
import {
  describePullSubscriptionsContract,
  describeQueueRoomContract,
  describeRegistryImportsContract,
  describeRegistryPagesContract,
} from './registry-pages.contract.ts';
import { describeArchivesContract } from './archives.contract.ts';
import { describeRegistryContract } from './registry.contract.ts';
import { describeSigningSecretsContract } from './signing-secrets.contract.ts';
import {
  describeSubscriptionHealthContract,
  describeSubscriptionsContract,
  type SubscriptionsUnderTest,
} from './subscriptions.contract.ts';
import { inMemoryChunks, inMemoryDeliveryListings } from '../support/in-memory/in-memory-deliveries.ts';
import { inMemoryCountingWindows, inMemoryRateLimits } from '../support/in-memory/in-memory-pace.ts';
import {
  inMemoryMessageListings,
  inMemoryMessageRecords,
  inMemoryPayloads,
} from '../support/in-memory/in-memory-messages.ts';
import { inMemoryOperatorEvents } from '../support/in-memory/in-memory-journal.ts';

const settableClock = () => {
  let time = 0;
  const setTime = (now: number) => void (time = now);
  return { clock: { now: () => time }, setTime };
};

describeDeliveriesContract('in memory', inMemoryDeliveries);
describeOverdueDeliveriesContract('in memory', () => Promise.resolve(inMemoryDeliveries()));
describeMessageRecordsContract('in memory', inMemoryMessageRecords);
describeRecoveriesContract('in memory', inMemoryRecoveries);
describePortalSessionsContract('in memory', inMemoryPortalSessions);
describeRegistryImportsContract('in memory', inMemorySubscriptions);
describeRegistryContract('in memory', () => {
  const store = inMemorySubscriptions();
  return { registry: store, subscriptions: store };
});
describeArchivesContract('in memory', inMemorySubscriptions);
describeEventTypesContract('in memory', () => Promise.resolve(inMemoryEventTypes()));
describeRegistryPagesContract('in memory', () => Promise.resolve(inMemorySubscriptions()));
describePullSubscriptionsContract('in memory', () => {
  const registry = inMemorySubscriptions();
  return { registry, pullSubscriptions: inMemoryPullSubscriptions(registry, 1) };
});
describeQueueRoomContract('in memory', () => {
  const { clock, setTime } = settableClock();
  const pass = (milliseconds: number) => {
    setTime(clock.now() + milliseconds);
  };
  return { registry: inMemorySubscriptions(clock), now: clock.now, pass };
});
const underTest = (): SubscriptionsUnderTest => {
  const { clock, setTime } = settableClock();
  const store = inMemorySubscriptions(clock, () => 10);
  return { subscriptions: store, registry: store, setTime };
};
describeSubscriptionsContract('in memory', underTest);
describeSubscriptionHealthContract('in memory', underTest);
describeReferencedDataContract('in memory', () => {
  const referencedData = inMemoryReferencedData();
  let versions = 0;
  return Promise.resolve({
    referencedData,
    bucket: 'producer',
    owner: referencedData.owner,
    put: (reference, bytes) => {
      versions += 1;
      const versioned = { ...reference, versionId: `version-${versions}` };
      referencedData.put(versioned, bytes);
      return Promise.resolve(versioned);
    },
    remove: (reference) => {
      referencedData.remove(reference);
      return Promise.resolve();
    },
  });
});

describeChunksContract('in memory', () => {
  const deliveries = inMemoryDeliveries();
  const messageRecords = inMemoryMessageRecords();
  const chunks = inMemoryChunks(deliveries, messageRecords);
  return { deliveries, chunks, messageRecords, listings: inMemoryDeliveryListings(deliveries, chunks) };
});

describeDeadLetterQueueContract('in memory', () => {
  const queue = inMemoryDeadLetterQueue({ now: () => Date.now() });
  let count = 0;
  return Promise.resolve({
    queue,
    put: (body, attributes = {}) => {
      count += 1;
      const id = `letter-${count}`;
      queue.put({ id, body, attributes, sentAt: Date.now() });
      return Promise.resolve(id);
    },
  });
});

describeDeliveryListingsContract('in memory', () => {
  const deliveries = inMemoryDeliveries();
  return { deliveries, listings: inMemoryDeliveryListings(deliveries) };
});
describeMessageListingsContract('in memory', () => {
  const records = inMemoryMessageRecords();
  return { records, listings: inMemoryMessageListings(records) };
});

describeOperatorEventsContract('in memory', () => {
  const operatorEvents = inMemoryOperatorEvents();
  return Promise.resolve({ operatorEvents, heard: () => Promise.resolve(operatorEvents.published) });
});

describeQueueStatisticsContract('in memory', inMemoryQueueStatistics);

/** A queue in virtual time whose consumer records the arrivals. */
const observedQueue = <T>() => {
  const clock = virtualClock();
  const arrived: { value: T; at: number }[] = [];
  const queue = modelledSqs<T>({
    name: 'message',
    timeline: clock,
    visibilityMs: () => 180_000,
    consume: sideBySide(({ value }) => Promise.resolve(void arrived.push({ value, at: clock.now() }))),
  });
  const arrivals = async () => {
    await clock.run();
    return arrived;
  };
  return { clock, queue, now: () => clock.now(), arrivals };
};

describeDeliveryQueueContract('in memory', () => {
  const { queue, ...observed } = observedQueue<DeliveryJob>();
  return Promise.resolve({ ...observed, queue: inMemoryDeliveryQueue(queue) });
});

describeWakeUpsContract('in memory', () => {
  const { queue, ...observed } = observedQueue<WakeUp>();
  return Promise.resolve({ ...observed, wakeUps: inMemoryWakeUps(observed.clock, queue) });
});

describeIngressContract('in memory', () => {
  const { queue, now, arrivals } = observedQueue<PublishedMessage>();
  return Promise.resolve({
    ingress: inMemoryIngress(queue),
    now,
    arrivals: async () =>
      (await arrivals()).map(({ value: { body, attributes = {} }, at }) => ({ body, attributes, at })),
  });
});

describePayloadsContract('in memory', inMemoryPayloads);

describeDeadLettersContract('in memory', () => {
  const deadLetters = inMemoryDeadLetters();
  return Promise.resolve({
    deadLetters,
    sent: () =>
      Promise.resolve(deadLetters.sent.map(({ attributes = {}, ...letter }) => ({ ...letter, attributes }))),
  });
});

describeUndeliverablesContract('in memory', () => {
  const undeliverables = inMemoryUndeliverables();
  const payloads = inMemoryPayloads();
  const notices = () =>
    Promise.all(
      undeliverables.sent.map(async ({ delivery, body }) => {
        const message = body?.kind === 'stored' ? await payloads.get(body.payloadKey) : body?.message;
        return noticeOf(delivery, message?.data);
      }),
    );
  return Promise.resolve({ undeliverables, payloads, notices });
});

describeRateLimitsContract('in memory', () => {
  const { clock, setTime } = settableClock();
  return { rateLimits: inMemoryRateLimits(clock), setTime };
});

describeCountingWindowsContract('in memory', inMemoryCountingWindows());

describeSigningSecretsContract('in memory', () => Promise.resolve(inMemorySecrets()));
