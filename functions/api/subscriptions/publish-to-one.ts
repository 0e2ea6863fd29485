import { MAX_BODY_IN_JOB } from '../../../shared/domain/message/body.ts';
import type { DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import { retainedFor, retentionOf } from '../../../shared/domain/retention.ts';
import { acceptedVersion, VERSION_FOR_ONE } from '../../../shared/domain/message/version.ts';
import { queueMember } from '../../../shared/domain/subscription/queue-metadata.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { storeBody } from '../../../shared/steps/keep-message.ts';
import { type BodyRetention, bodyRetentionMs } from '../../../shared/steps/retention.ts';
import type { ApiPorts } from '../dependencies.ts';

export type PublishToOneContext = Pick<
  ApiPorts,
  'clock' | 'messageRecords' | 'payloads' | 'deliveryQueue'
> & {
  registry: Pick<Registry, 'findQueue'>;
  settings: BodyRetention;
};

/**
 * Sends a message to one subscription without dispatch: writes its record, then its job
 * (docs/architecture.md#deliveries-table). deliver decides whether the subscription accepts it.
 * @throws when the message could not be recorded or sent; a repeat with the same message id is safe
 */
export async function publishToOne(
  context: PublishToOneContext,
  message: Message,
  subscriptionId: string,
): Promise<DeliveryKey> {
  const { clock, registry, messageRecords, payloads, deliveryQueue, settings } = context;
  const { queue, id: messageId } = message;
  const now = clock.now();
  const [found, body] = await Promise.all([
    registry.findQueue(queue),
    storeBody(payloads, message, MAX_BODY_IN_JOB),
  ]);
  const retention = retainedFor(queueMember('_retention_days', found?.metadata), settings);
  const { record } = await messageRecords.accept({
    key: { queue, messageId },
    acceptedAt: now,
    listedAt: now,
    ...(message.type === undefined ? {} : { type: message.type }),
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets: 1,
    accepted: acceptedVersion(VERSION_FOR_ONE, message),
    ...(body.kind === 'stored' && { body }),
    ...retention,
    expiresAt:
      now +
      (body.kind === 'stored' ? bodyRetentionMs(settings, retention) : retentionOf(retention, settings)),
  });
  const key: DeliveryKey = { queue, messageId, subscriptionId, bucket: 0 };
  const { acceptedAt } = record;
  await deliveryQueue.send([{ kind: 'job', key, attempt: 1, acceptedAt, ...retention, body }]);
  return key;
}
