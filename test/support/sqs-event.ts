import type { Context, SQSRecord } from 'aws-lambda';
import { randomUUID } from 'node:crypto';

/**
 * An invocation that ends this many milliseconds from now: the part of Lambda's context that the functions use.
 */
export function anInvocation(timeoutMs: number): Context {
  const endsAt = performance.now() + timeoutMs;
  const context: Pick<Context, 'awsRequestId' | 'getRemainingTimeInMillis'> = {
    awsRequestId: randomUUID(),
    getRemainingTimeInMillis: () => endsAt - performance.now(),
  };
  return context as Context;
}

/** A queue message, as Lambda passes it to a function. */
export function anSqsRecord(body: string, receiveCount = 1): SQSRecord {
  return {
    messageId: randomUUID(),
    receiptHandle: 'receipt',
    body,
    attributes: {
      ApproximateReceiveCount: String(receiveCount),
      SentTimestamp: String(Date.now()),
      SenderId: 'dispatch',
      ApproximateFirstReceiveTimestamp: String(Date.now()),
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:delivery',
    awsRegion: 'us-east-1',
  };
}
