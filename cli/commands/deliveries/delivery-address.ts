import type { Command } from 'commander';
import type { DeliveryAddress } from '../../api/deliveries.ts';
import { idOf, queueOf } from '../../options/arguments.ts';

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
