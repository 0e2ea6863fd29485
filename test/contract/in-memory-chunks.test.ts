import { inMemoryChunks } from '../support/in-memory/in-memory-chunks.ts';
import { inMemoryDeliveries } from '../support/in-memory/in-memory-deliveries.ts';
import { inMemoryDeliveryListings } from '../support/in-memory/in-memory-delivery-listings.ts';
import { inMemoryMessageRecords } from '../support/in-memory/in-memory-message-records.ts';
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
