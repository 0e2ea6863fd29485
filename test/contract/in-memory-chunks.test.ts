import {
  inMemoryChunks,
  inMemoryDeliveries,
  inMemoryDeliveryListings,
} from '../support/in-memory/in-memory-deliveries.ts';
import { inMemoryMessageRecords } from '../support/in-memory/in-memory-messages.ts';
import { describeAddedDeliveriesContract } from './added-deliveries.contract.ts';
import { describeChunkListingsContract } from './chunk-listings.contract.ts';
import { describeChunksContract } from './chunks.contract.ts';

const make = () => {
  const deliveries = inMemoryDeliveries();
  const messageRecords = inMemoryMessageRecords();
  const chunks = inMemoryChunks(deliveries, messageRecords);
  return { deliveries, chunks, messageRecords, listings: inMemoryDeliveryListings(deliveries, chunks) };
};

describeChunksContract('in memory', make);
describeAddedDeliveriesContract('in memory', make);
describeChunkListingsContract('in memory', make);
