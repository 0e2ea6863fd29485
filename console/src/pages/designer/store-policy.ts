import { getSubscription, patchQueue, updateSubscription } from '../../../../api-client/operations.ts';
import { findQueue } from '../../../../api-client/queues.ts';
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
    return (await api.call(getSubscription, { path: { queue, subscription } })).options._retry_policy;
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
    await api.call(patchQueue, { path: { queue }, body: JSON.stringify(patch) });
    return;
  }
  const { options } = await api.call(getSubscription, { path: { queue, subscription } });
  await api.call(updateSubscription, {
    path: { queue, subscription },
    body: JSON.stringify({ options: { ...options, _retry_policy: policy } }),
  });
}
