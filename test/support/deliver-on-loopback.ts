import type { Context, SQSBatchResponse, SQSRecord } from 'aws-lambda';
import { randomUUID } from 'node:crypto';
import { invocationMs } from '../../shared/domain/delivery/lease.ts';
import { deliverRecord } from '../../functions/deliver/deliver.ts';
import { sqsHandler } from '../../shared/adapters/lambda/sqs-handler.ts';
import { httpSubscriber } from '../../shared/adapters/http/subscriber.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import type { LambdaJournal } from '../../shared/adapters/log/journal.ts';
import type { DeliverContext, DeliverPorts } from '../../functions/deliver/context.ts';
import { healthNotes } from '../../functions/deliver/health.ts';
import { inMemorySubscriptions } from './in-memory/in-memory-subscriptions.ts';
import { pipelineWorld } from './in-memory/pipeline-world.ts';

export type Environment = (records: readonly SQSRecord[]) => Promise<SQSBatchResponse>;

export type OnLoopback = {
  journal: Omit<LambdaJournal, 'auditLogger'>;
  attemptTimeoutMs: number;
  /** PEM texts of authorities that are trusted beside the public ones. */
  trustedCertificates?: readonly string[];
  deliveryQueue: DeliverPorts['deliveryQueue'];
  wakeUps: DeliverPorts['wakeUps'];
};

/**
 * The deliver function in real time, with its real sender, and in place of AWS its in-memory twins. Each call of
 * `environment` is another execution environment: they share the tables and nothing else.
 */
export const deliverOnLoopback = (options: OnLoopback) => {
  const { journal, attemptTimeoutMs, trustedCertificates = [], deliveryQueue, wakeUps } = options;
  const world = pipelineWorld();
  const subscriptions = inMemorySubscriptions(systemClock);

  const environment = (): Environment => {
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'], trustedCertificates });
    const context: DeliverContext = {
      ports: {
        ...world.deliverContext.ports,
        clock: systemClock,
        journal,
        subscriptions,
        subscriber,
        deliveryQueue,
        wakeUps,
      },
      settings: { ...world.settings, attemptTimeoutMs },
      healthNotes: healthNotes(systemClock),
    };
    const handler = sqsHandler(journal, (record, invocation) => deliverRecord(context, record, invocation));
    return (records) => handler({ Records: [...records] }, anInvocation(invocationMs(attemptTimeoutMs)));
  };
  return { environment, subscriptions, deliveries: world.deliveries };
};

/** An invocation that ends so many milliseconds from now: as much of Lambda's context as our functions look at. */
export const anInvocation = (timeoutMs: number): Context => {
  const endsAt = performance.now() + timeoutMs;
  const context: Pick<Context, 'awsRequestId' | 'getRemainingTimeInMillis'> = {
    awsRequestId: randomUUID(),
    getRemainingTimeInMillis: () => endsAt - performance.now(),
  };
  return context as Context;
};

/** A message of the delivery or retry queue, as Lambda hands it to the function. */
export const anSqsRecord = (body: string, receiveCount = 1): SQSRecord => ({
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
});
