import { retainedMessagesOf } from '../../../shared/domain/message/body.ts';
import { queueMember } from '../../../shared/domain/subscription/queue-metadata.ts';
import type {
  ListedSubscription,
  Queue,
  Subscription,
} from '../../../shared/domain/subscription/subscription.ts';
import type { SubscriptionPage } from '../../../shared/ports/subscriptions.ts';

/** A page of at most `size` subscriptions of a queue, sorted by id, with only the fields that a page contains. */
export const pageOfSubscriptions = (
  queue: Queue,
  sorted: readonly Subscription[],
  { after = '', size, readAt }: { after?: string | undefined; size: number; readAt: number },
): SubscriptionPage => {
  const rest = sorted.filter(({ id }) => id > after);
  const subscriptions = rest.slice(0, size).map(listed);
  const lastSubscriptionId = rest.length > size ? subscriptions.at(-1)?.id : undefined;
  const retainMessages = retainedMessagesOf(queue.metadata);
  const retentionDays = queueMember('_retention_days', queue.metadata);
  return {
    queueCreatedAt: queue.createdAt,
    ...(retainMessages === undefined ? {} : { retainMessages }),
    ...(retentionDays === undefined ? {} : { retentionDays }),
    subscriptions,
    readAt,
    ...(lastSubscriptionId === undefined ? {} : { lastSubscriptionId }),
  };
};

/** The fields of a subscription that a page contains. */
export const listed = ({ id, createdAt, options, ...rest }: Subscription): ListedSubscription => ({
  id,
  createdAt,
  ...only(rest, ['confirmedAt', 'unconfirmed', 'deletedAt', 'expiresAt', 'failing', 'previousSelection']),
  options: only(options, ['event_types', 'filter']),
});

const only = <Of extends object, Name extends keyof Of>(of: Of, names: readonly Name[]): Pick<Of, Name> =>
  Object.fromEntries(Object.entries(of).filter(([name]) => names.some((wanted) => wanted === name))) as Pick<
    Of,
    Name
  >;
