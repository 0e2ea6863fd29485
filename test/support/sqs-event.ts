import type { Context, SQSRecord } from 'aws-lambda';
import { randomUUID } from 'node:crypto';

/** An invocation that ends so many milliseconds from now: as much of Lambda's context as our functions look at. */
export function anInvocation(timeoutMs: number): Context {
  const endsAt = performance.now() + timeoutMs;
  const context: Pick<Context, 'awsRequestId' | 'getRemainingTimeInMillis'> = {
    awsRequestId: randomUUID(),
    getRemainingTimeInMillis: () => endsAt - performance.now(),
  };
  return context as Context;
}

/** A message of a queue, as Lambda hands it to a function. */
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
