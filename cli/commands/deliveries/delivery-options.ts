import { type Command, Option } from 'commander';
import { LISTED_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import type { ApiClient } from '../../../api-client/api-client.ts';
import type { DeliveryAddress } from '../../../api-client/deliveries.ts';
import { listDeliveriesOfMessage } from '../../../api-client/operations.ts';
import { shortId } from '../../../api-client/subscription-labels.ts';
import { NoSuchSubscription, resolveSubscription } from '../../api/find-subscription.ts';
import { idOf, queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { TIME_FORMS, timeOf } from '../../options/time.ts';

/** Adds the three arguments that identify a delivery. */
export function addDeliveryAddress(command: Command): Command {
  return command
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<message>', 'id of the message', idOf)
    .argument('<subscription>', SUBSCRIPTION, subscriptionOf);
}

/** The delivery that a user means, also one to a subscription that is deleted. @throws Problem if there is none */
export async function findAddress(
  api: ApiClient,
  queue: string,
  messageId: string,
  reference: string,
): Promise<DeliveryAddress> {
  try {
    return { queue, messageId, subscriptionId: await resolveSubscription(api, queue, reference) };
  } catch (error) {
    if (!(error instanceof NoSuchSubscription)) throw error;
    const path = { queue, message: messageId };
    for await (const { subscriptionId } of api.list(listDeliveriesOfMessage, { path })) {
      if (shortId(subscriptionId) === reference) return { queue, messageId, subscriptionId };
    }
    throw error;
  }
}

export const EXAMPLE_ADDRESS = 'orders order-17 5b0c0f1e';

/** Adds the options that filter the deliveries of a queue. */
export function addDeliveryFilter(command: Command): Command {
  return command
    .addOption(new Option('--status <STATUS>', 'only deliveries with this status').choices(LISTED_STATUSES))
    .option('--subscription <ID>', `only deliveries to this subscription: ${SUBSCRIPTION}`, subscriptionOf)
    .option('--since <TIME>', `only for messages accepted since this time: ${TIME_FORMS}`, timeOf)
    .option('--until <TIME>', 'only for messages accepted before this time', timeOf);
}
