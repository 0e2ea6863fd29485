import { inMemoryDeliveries } from '../support/in-memory/in-memory-deliveries.ts';
import { inMemoryMessageRecords } from '../support/in-memory/in-memory-messages.ts';
import {
  inMemoryPullSubscriptions,
  inMemorySubscriptions,
} from '../support/in-memory/in-memory-subscriptions.ts';
import { inMemoryRecoveries } from '../support/in-memory/in-memory-recoveries.ts';
import { inMemoryReferencedData } from '../support/in-memory/in-memory-referenced-data.ts';
import { describeDeliveriesContract } from './deliveries.contract.ts';
import { describeOverdueDeliveriesContract } from './overdue-deliveries.contract.ts';
import { describeMessageLivesContract } from './message-lives.contract.ts';
import { describeMessagePartsContract } from './message-parts.contract.ts';
import { describeMessageRecordsContract } from './message-records.contract.ts';
import { describePullSubscriptionsContract } from './pull-subscriptions.contract.ts';
import { describeQueueRoomContract } from './queue-room.contract.ts';
import { describeRecoveriesContract } from './recoveries.contract.ts';
import { describeReferencedDataContract } from './referenced-data.contract.ts';
import { describeRegistryChangesContract } from './registry-changes.contract.ts';
import { describeRegistryDeletionsContract } from './registry-deletions.contract.ts';
import { describeRegistryImportsContract } from './registry-imports.contract.ts';
import { describeRegistryPagesContract } from './registry-pages.contract.ts';
import { describeSubscriptionHealthContract } from './subscription-health.contract.ts';
import { describeRegistryContract } from './subscription-registry.contract.ts';
import { describeWaitingDeliveriesContract } from './waiting-deliveries.contract.ts';
import { describeSubscriptionsContract, type SubscriptionsUnderTest } from './subscriptions.contract.ts';

describeDeliveriesContract('in memory', inMemoryDeliveries);
describeOverdueDeliveriesContract('in memory', () => Promise.resolve(inMemoryDeliveries()));
describeWaitingDeliveriesContract('in memory', inMemoryDeliveries);
describeMessageRecordsContract('in memory', inMemoryMessageRecords);
describeMessagePartsContract('in memory', inMemoryMessageRecords);
describeMessageLivesContract('in memory', inMemoryMessageRecords);
describeRecoveriesContract('in memory', inMemoryRecoveries);
describeRegistryContract('in memory', inMemorySubscriptions);
describeRegistryChangesContract('in memory', inMemorySubscriptions);
describeRegistryImportsContract('in memory', inMemorySubscriptions);
describeRegistryDeletionsContract('in memory', () => {
  const store = inMemorySubscriptions();
  return { registry: store, subscriptions: store };
});
describeRegistryPagesContract('in memory', () => Promise.resolve(inMemorySubscriptions()));
describePullSubscriptionsContract('in memory', () => {
  const registry = inMemorySubscriptions();
  return { registry, pullSubscriptions: inMemoryPullSubscriptions(registry, 1) };
});
describeQueueRoomContract('in memory', () => {
  const time = { now: 0 };
  const now = () => time.now;
  const pass = (milliseconds: number) => {
    time.now += milliseconds;
  };
  return { registry: inMemorySubscriptions({ now }), now, pass };
});
const underTest = (): SubscriptionsUnderTest => {
  const time = { now: 0 };
  const store = inMemorySubscriptions({ now: () => time.now }, () => 10);
  return {
    subscriptions: store,
    registry: store,
    setTime: (now) => {
      time.now = now;
    },
  };
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
