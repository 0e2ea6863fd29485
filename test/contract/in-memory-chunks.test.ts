import { inMemoryChunks } from '../support/in-memory/in-memory-chunks.ts';
import { inMemoryDeliveries } from '../support/in-memory/in-memory-deliveries.ts';
import { inMemoryDeliveryListings } from '../support/in-memory/in-memory-delivery-listings.ts';
import { describeChunkListingsContract } from './chunk-listings.contract.ts';
import { describeChunksContract } from './chunks.contract.ts';

const make = () => {
  const deliveries = inMemoryDeliveries();
  const chunks = inMemoryChunks(deliveries);
  return { deliveries, chunks, listings: inMemoryDeliveryListings(deliveries, chunks) };
};

describeChunksContract('in memory', make);
describeChunkListingsContract('in memory', make);
