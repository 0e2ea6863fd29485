import { type Command, Option } from 'commander';
import { LISTED_STATUSES } from '../../../shared/domain/vocabulary.ts';
import type { DeliveryAddress } from '../../api/deliveries.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { TIME_FORMS, timeOf } from '../../options/time.ts';

/** The three names of one delivery, as arguments. */
export function addDeliveryAddress(command: Command): Command {
  return command
    .argument('<queue>', 'its queue', queueOf)
    .argument('<message>', "its message's id", idOf)
    .argument('<subscription>', "its subscription's id", idOf);
}

export function addressOf(queue: string, messageId: string, subscriptionId: string): DeliveryAddress {
  return {
    queue,
    messageId,
    subscriptionId,
  };
}

export const EXAMPLE_ADDRESS = 'orders order-17 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';

/** Of a queue's deliveries. */
export function addDeliveryFilter(command: Command): Command {
  return command
    .addOption(new Option('--status <STATUS>', 'only with this status').choices(LISTED_STATUSES))
    .option('--subscription <ID>', 'only of this subscription', idOf)
    .option('--since <TIME>', `only of messages accepted since: ${TIME_FORMS}`, timeOf)
    .option('--until <TIME>', 'only of messages accepted before', timeOf);
}
