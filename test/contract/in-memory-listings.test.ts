import { inMemoryDeliveries, inMemoryDeliveryListings } from '../support/in-memory/in-memory-deliveries.ts';
import { inMemoryMessageListings, inMemoryMessageRecords } from '../support/in-memory/in-memory-messages.ts';
import { describeDeliveryListingsContract } from './delivery-listings.contract.ts';
import { describeMessageDeliveriesContract } from './message-deliveries.contract.ts';
import { describeMessageListingsContract } from './message-listings.contract.ts';

const makeDeliveries = () => {
  const deliveries = inMemoryDeliveries();
  return { deliveries, listings: inMemoryDeliveryListings(deliveries) };
};

describeDeliveryListingsContract('in memory', makeDeliveries);
describeMessageDeliveriesContract('in memory', makeDeliveries);
describeMessageListingsContract('in memory', () => {
  const records = inMemoryMessageRecords();
  return { records, listings: inMemoryMessageListings(records) };
});
