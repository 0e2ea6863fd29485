import { MAX_BODY_IN_JOB } from '../../../shared/domain/message/body.ts';
import type { DeliveryJob } from '../../../shared/domain/delivery/job.ts';
import type { DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { DeliveryQueue } from '../../../shared/ports/queues.ts';
import type { MessageRecords } from '../../../shared/ports/messages.ts';
import type { Payloads } from '../../../shared/ports/bodies.ts';
import { storeBody } from '../../../shared/steps/keep-message.ts';
import { keptUntil } from '../../../shared/steps/retention.ts';

export type PublishToOneContext = {
  clock: Pick<Clock, 'now'>;
  messageRecords: MessageRecords;
  payloads: Payloads;
  deliveryQueue: DeliveryQueue<DeliveryJob>;
  /** Milliseconds. */
  settings: { retentionMs: number; retryAfterCapMs: number };
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
  const { clock, messageRecords, payloads, deliveryQueue, settings } = context;
  const { queue, id: messageId } = message;
  const now = clock.now();
  const body = await storeBody(payloads, message, MAX_BODY_IN_JOB);
  const { record } = await messageRecords.accept({
    key: { queue, messageId },
    acceptedAt: now,
    listedAt: now,
    ...(message.type === undefined ? {} : { type: message.type }),
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets: 1,
    ...(body.kind === 'stored' && { body }),
    expiresAt: body.kind === 'stored' ? keptUntil(now, settings) : now + settings.retentionMs,
  });
  const key: DeliveryKey = { queue, messageId, subscriptionId, bucket: 0 };
  await deliveryQueue.send([{ kind: 'job', key, attempt: 1, acceptedAt: record.acceptedAt, body }]);
  return key;
}
