import type { ApiClient } from '../../../api-client/api-client.ts';
import { listQueues } from '../../../api-client/operations.ts';
import { searchQueue } from '../../../api-client/search.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { limitConcurrency } from './page-client.ts';

export type Found = {
  /** Queues whose name contains the text. */
  queues: readonly string[];
  /** Queues that have a message with exactly this id. */
  messages: readonly string[];
  subscriptions: readonly SubscriptionView[];
  /** Queues with more matching subscriptions. */
  cutIn: readonly string[];
  /** The queues to search, in order, and how many are done. */
  searched: readonly string[];
  lookedIn: number;
  /** Whether there are further queues, which are not searched. */
  more: boolean;
  /** Queues that could not be looked in, and the first reason. */
  failed: { count: number; failure: unknown };
  isDone: boolean;
};

/** Each queue costs two requests. */
const MAX_QUEUES = 1_000;

/** Leaves two of the page's six slots to its polling. */
const MAX_CONCURRENT = 4;

const NOTHING: Found = {
  queues: [],
  messages: [],
  subscriptions: [],
  cutIn: [],
  searched: [],
  lookedIn: 0,
  more: false,
  failed: { count: 0, failure: undefined },
  isDone: false,
};

/**
 * Looks for a message id, a subscription (the beginning of its id, a part of its name or URL) and queue names in all
 * queues, those in `first` before the others. Reports what it has found so far.
 */
export async function search(
  api: ApiClient,
  text: string,
  {
    first,
    signal,
    onFound,
  }: { first: string | undefined; signal: AbortSignal; onFound: (found: Found) => void },
): Promise<void> {
  let found = NOTHING;
  const add = (news: Partial<Found>): void => {
    if (signal.aborted) return;
    found = { ...found, ...news };
    onFound(found);
  };
  const { items, more } = await api.items(listQueues, { query: { detailed: true }, most: MAX_QUEUES });
  const names = items.map(({ name }) => name);
  const searched = names.toSorted((one, other) => Number(other === first) - Number(one === first));
  add({ queues: names.filter((name) => name.includes(text)), searched, more });
  const slots = limitConcurrency(MAX_CONCURRENT);
  await Promise.all(
    searched.map(async (queue) => {
      try {
        const result = await slots(() => searchQueue(api, queue, text, signal), signal);
        const { message, subscriptions, more: isCut } = result;
        add({
          ...(isCut && { cutIn: [...found.cutIn, queue] }),
          ...(message !== undefined && { messages: [...found.messages, queue] }),
          subscriptions: [...found.subscriptions, ...subscriptions],
        });
      } catch (failure) {
        add({ failed: { count: found.failed.count + 1, failure: found.failed.failure ?? failure } });
      }
      add({ lookedIn: found.lookedIn + 1 });
    }),
  );
  add({ isDone: true });
}
