import * as z from 'zod';
import { explainedSchema } from '../../shared/wire/views/explanation.ts';
import { messageSummarySchema } from '../../shared/wire/views/message.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import type { DeliveryAddress } from './deliveries.ts';
import { linksSchema, listing } from './listing.ts';
import type { ListedMessage } from './messages.ts';

/** What became of a message for one subscription. */
export type Explained = z.infer<typeof explainedSchema>;

const pageSchema = z
  .object({ message: messageSummarySchema, subscriptions: z.array(explainedSchema), links: linksSchema })
  .transform(({ message, subscriptions, links }) => ({ message, items: subscriptions, links }));

/** `onMessage` gets what each page says of the message. */
type Explaining = {
  most?: number | undefined;
  onMessage?: (message: Pick<ListedMessage, 'matched'>) => void;
};

/** What became of a message for each subscription of its queue, or for one. */
export function explainMessage(
  api: ApiClient,
  { queue, messageId, subscriptionId }: Omit<DeliveryAddress, 'subscriptionId'> & { subscriptionId?: string },
  { most, onMessage }: Explaining = {},
): AsyncGenerator<Explained, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/messages/${messageId}/explain`,
    query: { subscription: subscriptionId },
    schema: pageSchema.transform(({ message, ...page }) => {
      onMessage?.(message);
      return page;
    }),
    most,
  });
}

/** Why there is nothing to explain. `matched`: the subscriptions that matched the message when it was accepted. */
export function noneLeftText(matched: number): string {
  return matched === 0
    ? 'The queue has no subscription, and the message matched none.'
    : `No subscription is left; the message matched ${matched} when it was accepted.`;
}
