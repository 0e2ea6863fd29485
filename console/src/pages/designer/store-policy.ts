import { findQueue, patchQueue } from '../../../../cli/api/queues.ts';
import { showSubscription, updateSubscription } from '../../../../cli/api/subscriptions.ts';
import type { PartialRetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import type { PageClient } from '../../api/page-client.ts';
import { queuePolicy } from '../queue/queue-draft.ts';

/** The owner of a policy: a queue, or a subscription on it. */
export type PolicyOwner = { queue: string; subscription?: string };

/** The stored policy; undefined where there is none, or where the queue does not exist. */
export async function storedPolicy(
  api: PageClient,
  { queue, subscription }: PolicyOwner,
): Promise<PartialRetryPolicy | undefined> {
  if (subscription !== undefined)
    return (await showSubscription(api, queue, subscription)).options._retry_policy;
  return queuePolicy(await findQueue(api, queue));
}

/** Stores a policy. The API replaces all options of a subscription, so this reads them first; redacted ones stay. */
export async function storePolicy(
  api: PageClient,
  { queue, subscription }: PolicyOwner,
  policy: PartialRetryPolicy,
): Promise<void> {
  if (subscription === undefined) {
    const patch = [{ op: 'add', path: '/metadata/_retry_policy', value: policy }];
    await patchQueue(api, queue, JSON.stringify(patch));
    return;
  }
  const { options } = await showSubscription(api, queue, subscription);
  await updateSubscription(
    api,
    queue,
    subscription,
    JSON.stringify({ options: { ...options, _retry_policy: policy } }),
  );
}
