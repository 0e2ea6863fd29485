import type { FirstJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { parseDeliveryRecord } from '../../shared/wire/jobs/delivery-job.ts';
import { deliverChunk } from './chunk.ts';
import type { DeliverContext, Received } from './context.ts';
import { deliver } from './deliver.ts';
import type { Context, SQSRecord } from 'aws-lambda';

/**
 * What deliver does for every record. A throw means that a service of ours failed, and the message comes again. What can
 * never be understood is buried with its reason instead of being tried ten times.
 */
export function deliverRecord(deliverContext: DeliverContext) {
  return async (record: SQSRecord, context: Context): Promise<void> => {
    const { deadLetters, journal } = deliverContext.ports;
    const parsed = parseDeliveryRecord(record.body);
    if (!parsed.ok) {
      await deadLetters.bury({ id: record.messageId, body: record.body }, parsed.reason);
      journal.note({ fact: 'dead_lettered', id: record.messageId, reason: parsed.reason });
      return;
    }
    const received: Received = {
      id: record.messageId,
      text: record.body,
      receiveCount: Number(record.attributes.ApproximateReceiveCount),
      owner: `${context.awsRequestId}/${record.messageId}`,
      remainingMs: () => context.getRemainingTimeInMillis(),
    };
    await deliverWork(deliverContext, parsed.value, received);
  };
}

/** The ids of the delivery in a record, as far as it can be read; of a chunk those of its message. */
export function deliveryIdsIn({ body }: SQSRecord): Record<string, string> {
  const parsed = parseDeliveryRecord(body);
  if (!parsed.ok) return {};
  const { value } = parsed;
  const { queue, messageId } = value.key;
  return value.kind === 'chunk'
    ? { queue, messageId }
    : { queue, messageId, subscriptionId: value.key.subscriptionId };
}

/** Whatever deliver's two queues carry, to the end of what can be done about it now. It throws when it must come again. */
export function deliverWork(
  context: DeliverContext,
  work: FirstJob | WakeUp,
  received: Received,
): Promise<void> {
  return work.kind === 'chunk' ? deliverChunk(context, work, received) : deliver(context, work, received);
}
