import { setTimeout as pause } from 'node:timers/promises';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/deliveries/delivery-listings.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { inParallel } from '../../shared/adapters/in-parallel.ts';
import { endOf, type Pair } from './books.ts';
import type { Listener, System } from './deployed-system.ts';
import type { ReceiversLog } from './subscribers.ts';
import type { Published } from './traffic.ts';

const CONCURRENT_READS = 4;

/** Messages to read at a time, to leave the emulator capacity for the functions. */
const MAX_AT_ONCE = 150;

/** A pair with a name for error messages. */
export type NamedPair = Pair & { name: string };

/** The records of the published messages, from consistent reads of the deliveries table. */
export const ledgerOf = (
  { dynamo, endpoints }: System,
  { messages, listeners }: { messages: readonly Published[]; listeners: readonly Listener[] },
  log: ReceiversLog,
) => {
  const context = {
    messageRecords: dynamoMessageRecords(dynamo, endpoints.deliveriesTable),
    deliveryListings: dynamoDeliveryListings(dynamo, endpoints.deliveriesTable, {
      sleep: (milliseconds) => pause(milliseconds),
      random: Math.random,
    }),
  };
  const byQueue = Map.groupBy(listeners, ({ queue }) => queue);

  const pairsOf = async (message: Published): Promise<NamedPair[]> => {
    const { queue, messageId } = message;
    // One page: no queue has as many subscriptions.
    const found = await context.messageRecords.find(message);
    const page = found && (await context.deliveryListings.ofMessage(found, { limit: 100 }));
    const bySubscription = new Map(page?.items.map((record) => [record.key.subscriptionId, record]));
    return (byQueue.get(queue) ?? []).map(({ path, subscriptionId }) => ({
      name: `${path} ${messageId}`,
      messageId,
      record: bySubscription.get(subscriptionId),
      replies: log.repliesOf(path, messageId),
    }));
  };

  let unfinished = [...messages];
  return {
    /** Checks some of the unfinished messages. Returns how many are unfinished. */
    open: async (): Promise<number> => {
      const looked = unfinished.slice(0, MAX_AT_ONCE);
      const found = await inParallel(looked, CONCURRENT_READS, async (message) => ({
        message,
        isOver: (await pairsOf(message)).every((pair) => endOf(pair) !== undefined),
      }));
      const still = found.filter(({ isOver }) => !isOver).map(({ message }) => message);
      unfinished = [...unfinished.slice(MAX_AT_ONCE), ...still];
      return unfinished.length;
    },
    /** Reads all records again. */
    pairs: async (): Promise<NamedPair[]> => (await inParallel(messages, CONCURRENT_READS, pairsOf)).flat(),
  };
};

export type Ledger = ReturnType<typeof ledgerOf>;
