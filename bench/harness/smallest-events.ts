import * as z from 'zod';
import { encodeFirstJob } from '../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation } from '../../shared/wire/jobs/operation.ts';
import type { FunctionName } from '../../test/support/bundle.ts';
import { anSqsRecord } from '../../test/support/sqs-event.ts';
import { subscriptionIdAt } from './stub-aws.ts';

/** It needs one subscription. */
export const QUEUE = 'orders';

/** Records that were not acknowledged, or an error of the API. */
export const failedAnswer = z.union([
  z.object({ batchItemFailures: z.array(z.unknown()).min(1) }),
  z.object({ statusCode: z.number().min(400) }),
]);

/** A queue that is gone. Under the name of another, operate would take it for restored. */
const DELETED_QUEUE = 'deleted';

/** Long enough ago for operate to finish. */
const DELETED_MS_AGO = 120_000;

/** The smallest usual work of each function. `now`: milliseconds since the epoch. */
export function smallestEvents(now: number): Record<FunctionName, object> {
  const data = JSON.stringify({ text: 'x'.repeat(1_024) });
  const id = 'message-1';
  const timestamp = new Date(now).toISOString();
  const message = { queue: QUEUE, id, type: 'order.created', timestamp, data };
  const job = encodeFirstJob({
    kind: 'job',
    key: { queue: QUEUE, messageId: id, subscriptionId: subscriptionIdAt(0), bucket: 0 },
    attempt: 1,
    acceptedAt: now,
    sentAt: now,
    body: { kind: 'inline', message },
  });
  const deletedAt = now - DELETED_MS_AGO;
  return {
    dispatch: { Records: [anSqsRecord(JSON.stringify({ queue: QUEUE, id, data: { text: data } }))] },
    deliver: { Records: [anSqsRecord(job)] },
    reconcile: {},
    operate: {
      Records: [anSqsRecord(encodeOperation({ kind: 'cancellation', queue: DELETED_QUEUE, deletedAt }))],
    },
    api: {
      rawPath: `/v2/queues/${QUEUE}/messages`,
      body: `{"messages":[{"body":${data}}]}`,
      requestContext: { requestId: 'request-1', http: { method: 'POST' } },
    },
    // The page itself: nothing behind the portal answers here.
    portal: {
      rawPath: '/portal/',
      requestContext: { requestId: 'request-1', http: { method: 'GET' } },
    },
    secrets: {
      rawPath: `/v2/credentials/${QUEUE}`,
      requestContext: { requestId: 'request-1', http: { method: 'POST' } },
    },
  };
}
