import type { Message } from '../../shared/domain/message/message.ts';
import { encodeFirstJob } from '../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation } from '../../shared/wire/jobs/operation.ts';
import type { FunctionName } from '../../test/support/bundle.ts';
import { anSqsRecord } from '../../test/support/sqs-event.ts';
import { subscriptionIdAt } from '../harness/stub-aws.ts';

export const QUEUE = 'orders';
const PAYLOAD_BYTES = 1024;

/** Long enough ago that operate has nothing more to wait for. */
const DELETED_MS_AGO = 120_000;

/** The usual work of each function, in its smallest measure. `now`: milliseconds since the epoch. */
export function eventsAt(now: number): Record<FunctionName, unknown> {
  const data = JSON.stringify({ text: 'x'.repeat(PAYLOAD_BYTES) });
  const id = 'message-1';
  const message: Message = {
    queue: QUEUE,
    id,
    type: 'order.created',
    timestamp: new Date(now).toISOString(),
    data,
  };
  const job = encodeFirstJob({
    kind: 'job',
    key: { queue: QUEUE, messageId: id, subscriptionId: subscriptionIdAt(0), bucket: 0 },
    attempt: 1,
    acceptedAt: now,
    sentAt: now,
    body: { kind: 'inline', message },
  });
  const cancellation = encodeOperation({
    kind: 'cancellation',
    queue: QUEUE,
    deletedAt: now - DELETED_MS_AGO,
  });
  return {
    dispatch: { Records: [anSqsRecord(JSON.stringify({ queue: QUEUE, id, data: { text: data } }))] },
    deliver: { Records: [anSqsRecord(job)] },
    reconcile: {},
    operate: { Records: [anSqsRecord(cancellation)] },
    api: {
      rawPath: `/v2/queues/${QUEUE}/messages`,
      body: `{"messages":[{"body":${data}}]}`,
      requestContext: { requestId: 'request-1', http: { method: 'POST' } },
    },
  };
}
