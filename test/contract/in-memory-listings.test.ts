import { inMemoryDeliveries } from '../support/in-memory/in-memory-deliveries.ts';
import { inMemoryDeliveryListings } from '../support/in-memory/in-memory-delivery-listings.ts';
import { inMemoryMessageListings } from '../support/in-memory/in-memory-message-listings.ts';
import { inMemoryMessageRecords } from '../support/in-memory/in-memory-message-records.ts';
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
