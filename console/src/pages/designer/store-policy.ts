import { findQueue, patchQueue } from '../../../../cli/api/queues.ts';
import { showSubscription, updateSubscription } from '../../../../cli/api/subscriptions.ts';
import * as z from 'zod';
import { retryPolicySchema } from '../../../../shared/domain/retry/policy-schema.ts';
import type { PartialRetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import type { PageClient } from '../../api/page-client.ts';

/** Whose policy it is: a queue's, or that of a subscription on it. */
export type PolicyOwner = { queue: string; subscription?: string };

const withPolicy = z.looseObject({ _retry_policy: retryPolicySchema.exactOptional() });

/** As it is stored now; undefined where there is none, or no such owner. */
export async function storedPolicy(
  api: PageClient,
  { queue, subscription }: PolicyOwner,
): Promise<PartialRetryPolicy | undefined> {
  if (subscription !== undefined)
    return (await showSubscription(api, queue, subscription)).options._retry_policy;
  const parsed = withPolicy.safeParse(await findQueue(api, queue));
  return parsed.success ? parsed.data._retry_policy : undefined;
}

/** Options are replaced as a whole, so that they are read first; what is redacted in them stays as it was. */
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
