import type { Context, SQSRecord } from 'aws-lambda';
import { parseDeliveryRecord } from '../../shared/messages/delivery-job.ts';
import type { DeliverContext, Received } from '../../shared/pipeline/deliver-context.ts';
import { deliverWork } from '../../shared/pipeline/deliver-work.ts';

/**
 * What deliver does for every record. A throw means that a service of ours failed, and the message comes again. What can
 * never be understood is buried with its reason instead of being tried ten times.
 */
export const deliverRecord =
  (deliverContext: DeliverContext) =>
  async (record: SQSRecord, context: Context): Promise<void> => {
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

/** The ids of the delivery in a record, as far as it can be read; of a chunk those of its message. */
export const deliveryIdsIn = ({ body }: SQSRecord): Record<string, string> => {
  const parsed = parseDeliveryRecord(body);
  if (!parsed.ok) return {};
  const { value } = parsed;
  const { queue, messageId } = value.key;
  return value.kind === 'chunk'
    ? { queue, messageId }
    : { queue, messageId, subscriptionId: value.key.subscriptionId };
};
