import { kmsClient } from '../../shared/adapters/kms/client.ts';
import { marshall } from '@aws-sdk/util-dynamodb';
import { kmsSecretSealer } from '../../shared/adapters/kms/signing-secrets.ts';
import { queueItemOf, subscriptionItemOf } from '../../shared/adapters/dynamodb/subscription-item.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';
import { makeSecret } from '../../shared/domain/subscription/signing-secret.ts';
import type { Item } from './stub-dynamo.ts';

/** The widest fan-out that is delivered. */
const SEALED_EACH = 100;

export const subscriptionIdAt = (index: number): string => `subscription-${String(index).padStart(5, '0')}`;

/** The URL of a subscription, its origin taken from the given ones in turn. */
export const subscriberAt = (origins: readonly string[], index: number): string =>
  `${origins[index % origins.length] ?? ''}/hook/${index}`;

/** A queue and its subscriptions, made by the code that makes real ones; each is signed with a secret of its own. */
export const itemsOf = async (
  queue: string,
  fanOut: number,
  { endpoint, subscribers }: { endpoint: string; subscribers: readonly string[] },
  policy?: RetryPolicy,
): Promise<Item[]> => {
  const sealer = kmsSecretSealer(
    kmsClient({
      endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
    }),
    'arn:secrets',
  );
  const sealed = await Promise.all(
    Array.from({ length: Math.min(fanOut, SEALED_EACH) }, (_, index) =>
      sealer.seal(
        { queue, subscriptionId: subscriptionIdAt(index) },
        makeSecret('v1', (bytes) => new Uint8Array(bytes).fill(index)),
      ),
    ),
  );
  const items = Array.from({ length: fanOut }, (_, index) =>
    subscriptionItemOf({
      id: subscriptionIdAt(index),
      queue,
      subscriber: subscriberAt(subscribers, index),
      options: policy === undefined ? {} : { _retry_policy: policy },
      createdAt: 0,
      secrets: [{ sealed: sealed[index % SEALED_EACH] ?? '' }],
    }),
  );
  return [queueItemOf({ name: queue, metadata: {}, createdAt: 0 }), ...items].map((item) =>
    marshall(item, { removeUndefinedValues: true }),
  );
};
