import type { SQSMessageAttributes, SQSRecord } from 'aws-lambda';
import { documentClient, s3Client, sqsClient } from '../../shared/adapters/aws-clients.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamo-message-records.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamo-subscriptions.ts';
import { invocationDeadline } from '../../shared/adapters/invocation-deadline.ts';
import { powertoolsJournal } from '../../shared/adapters/powertools-journal.ts';
import { s3Payloads } from '../../shared/adapters/s3-payloads.ts';
import { sqsDeadLetters } from '../../shared/adapters/sqs-dead-letters.ts';
import { sqsDeliveryQueue } from '../../shared/adapters/sqs-delivery-queue.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { dispatchEnvironment } from '../../shared/config/environment.ts';
import { parseIngress } from '../../shared/messages/ingress-message.ts';
import { dispatch, type DispatchContext } from '../../shared/pipeline/dispatch.ts';
import { sqsHandler } from '../sqs-handler.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';

// Once per cold start

const environment = dispatchEnvironment();
const journal = powertoolsJournal({ deployment: environment.deployment, service: 'dispatch' });
const deadline = invocationDeadline();
const sqs = sqsClient({ deadline });
const dynamo = documentClient({ deadline });

const dispatchContext: DispatchContext = {
  ports: {
    clock,
    journal,
    subscriptions: dynamoSubscriptions(dynamo, environment.subscriptionsTable, {
      clock,
      cacheSeconds: environment.subscriptionCacheSeconds,
    }),
    messageRecords: dynamoMessageRecords(dynamo, environment.deliveriesTable),
    payloads: s3Payloads(s3Client({ deadline }), environment.payloadBucket),
    deliveryQueue: sqsDeliveryQueue({
      sqs,
      queueUrl: environment.deliveryQueueUrl,
      sleep: (milliseconds) => clock.sleep(milliseconds),
      random: Math.random,
      deadline,
    }),
    deadLetters: sqsDeadLetters(sqs, environment.ingressDeadLetterUrl),
  },
  settings: {
    retentionMs: environment.retentionDays * DAY_MS,
    retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
    retainMessages: environment.retainMessages,
  },
};

// For every record: a throw means a transient fault, and the message comes again.

const dispatchRecord = async (record: SQSRecord): Promise<void> => {
  const original = { id: record.messageId, body: record.body, attributes: textsOf(record.messageAttributes) };
  const sentAt = Number(record.attributes.SentTimestamp);
  const received = { ...original, sqsMessageId: record.messageId, sentAt };
  await dispatch(dispatchContext, parseIngress(received, environment.ingressRoutes), original);
};

const textsOf = (attributes: SQSMessageAttributes): Record<string, string> =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([name, { stringValue }]) =>
      stringValue === undefined ? [] : [[name, stringValue]],
    ),
  );

// Called by Lambda, with up to ten messages of the ingress queue

export const handler = deadline.timed(sqsHandler(journal, dispatchRecord));
