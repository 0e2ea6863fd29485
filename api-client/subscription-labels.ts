import { inParallel } from '../shared/adapters/in-parallel.ts';
import type { SubscriptionView } from '../shared/wire/views/subscription.ts';
import type { ApiClient } from './api-client.ts';
import { getSubscription, listSubscriptions } from './operations.ts';
import { isNotFound, isRefusal, orElse } from './refusal.ts';

const WHOLE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isWholeId(text: string): boolean {
  return WHOLE_ID.test(text);
}

/** The id as people read and type it: its first eight characters. */
export function shortId(id: string): string {
  return isWholeId(id) ? id.slice(0, 8) : id;
}

/** What people know the subscription by. */
export function formatLabel({ name, subscriber }: Pick<SubscriptionView, 'name' | 'subscriber'>): string {
  return name ?? subscriber;
}

export type SubscriptionLabels = {
  /** Looks up the subscriptions that are not known yet. */
  load: (ids: readonly string[]) => Promise<void>;
  /** The name or URL of a loaded subscription, cut to the width of a table; empty if it could not be read. */
  of: (id: string) => string;
};

/** One page. Queues with more subscriptions need a request for each further one. */
const MAX_LISTED = 100;
const SIDE_BY_SIDE = 8;

/** Enough of a URL to tell subscribers apart, so that rows stay on one line. */
const LABEL_LENGTH = 40;

/** Names or URLs of a queue's subscriptions, for tables. */
export function subscriptionLabels(api: ApiClient, queue: string): SubscriptionLabels {
  const labels = new Map<string, string>();
  const listAll = async (): Promise<void> => {
    try {
      for await (const one of api.list(listSubscriptions, { path: { queue }, most: MAX_LISTED }))
        labels.set(one.id, formatLabel(one));
    } catch (error) {
      // A caller that may see deliveries need not see subscriptions.
      if (!isRefusal(error)) throw error;
    }
  };
  const look = async (id: string): Promise<void> => {
    const label = await api
      .call(getSubscription, { path: { queue, subscription: id } })
      .then(formatLabel)
      .catch(orElse(isNotFound, '(deleted)'))
      .catch(orElse(isRefusal, ''));
    labels.set(id, label);
  };
  let listed: Promise<void> | undefined;
  return {
    load: async (ids) => {
      if (ids.length > 1) await (listed ??= listAll());
      const unknown = [...new Set(ids)].filter((id) => !labels.has(id));
      await inParallel(unknown, SIDE_BY_SIDE, look);
    },
    of: (id) => {
      const label = labels.get(id) ?? '';
      return label.length > LABEL_LENGTH ? `${label.slice(0, LABEL_LENGTH)}…` : label;
    },
  };
}
