import { type Command, Option } from 'commander';
import { LISTED_STATUSES } from '../../../shared/domain/vocabulary.ts';
import type { DeliveryAddress } from '../../api/deliveries.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { TIME_FORMS, timeOf } from '../../options/time.ts';

/** Adds the three arguments that identify a delivery. */
export function addDeliveryAddress(command: Command): Command {
  return command
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<message>', 'id of the message', idOf)
    .argument('<subscription>', 'id of the subscription', idOf);
}

export function addressOf(queue: string, messageId: string, subscriptionId: string): DeliveryAddress {
  return {
    queue,
    messageId,
    subscriptionId,
  };
}

export const EXAMPLE_ADDRESS = 'orders order-17 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';

/** Adds the options that filter the deliveries of a queue. */
export function addDeliveryFilter(command: Command): Command {
  return command
    .addOption(new Option('--status <STATUS>', 'only deliveries with this status').choices(LISTED_STATUSES))
    .option('--subscription <ID>', 'only deliveries to this subscription', idOf)
    .option('--since <TIME>', `only for messages accepted since this time: ${TIME_FORMS}`, timeOf)
    .option('--until <TIME>', 'only for messages accepted before this time', timeOf);
}
