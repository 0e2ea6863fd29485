import { inMemoryDeliveries } from '../support/in-memory/in-memory-deliveries.ts';
import { inMemoryMessageRecords } from '../support/in-memory/in-memory-message-records.ts';
import { inMemorySubscriptions } from '../support/in-memory/in-memory-subscriptions.ts';
import { describeDeliveriesContract } from './deliveries.contract.ts';
import { describeDeliveryListingsContract } from './delivery-listings.contract.ts';
import { describeMessageRecordsContract } from './message-records.contract.ts';
import { describeRegistryPagesContract } from './registry-pages.contract.ts';
import { describeSubscriptionRegistryContract } from './subscription-registry.contract.ts';
import { describeSubscriptionsContract } from './subscriptions.contract.ts';

describeDeliveriesContract('in memory', inMemoryDeliveries);
describeDeliveryListingsContract('in memory', () => Promise.resolve(inMemoryDeliveries()));
describeMessageRecordsContract('in memory', inMemoryMessageRecords);
describeSubscriptionRegistryContract('in memory', inMemorySubscriptions);
describeRegistryPagesContract('in memory', () => Promise.resolve(inMemorySubscriptions()));
describeSubscriptionsContract('in memory', () => {
  const time = { now: 0 };
  const store = inMemorySubscriptions({ now: () => time.now });
  return {
    subscriptions: store,
    registry: store,
    setTime: (now) => {
      time.now = now;
    },
  };
});
