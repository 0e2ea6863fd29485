import type { Context, SQSRecord } from 'aws-lambda';
import { invocationDeadline } from '../../shared/adapters/invocation-deadline.ts';
import { powertoolsJournal } from '../../shared/adapters/powertools-journal.ts';
import { deliverEnvironment } from '../../shared/config/environment.ts';
import { parseDeliveryRecord } from '../../shared/messages/delivery-job.ts';
import { deliver } from '../../shared/pipeline/deliver.ts';
import { sqsHandler } from '../sqs-handler.ts';
import { deliverContextOf } from './deliver-context.ts';

// Once per cold start

const environment = deliverEnvironment();
const journal = powertoolsJournal({ deployment: environment.deployment, service: 'deliver' });
const deadline = invocationDeadline();
const deliverContext = deliverContextOf(environment, journal, deadline);

// For every record: a throw means that a service of ours failed, and the message comes again. What can never be
// understood is buried with its reason instead of being tried ten times.

const deliverRecord = async (record: SQSRecord, context: Context): Promise<void> => {
  const parsed = parseDeliveryRecord(record.body);
  if (!parsed.ok) {
    await deliverContext.ports.deadLetters.bury({ id: record.messageId, body: record.body }, parsed.reason);
    journal.note({ fact: 'dead_lettered', id: record.messageId, reason: parsed.reason });
    return;
  }
  await deliver(deliverContext, parsed.value, {
    id: record.messageId,
    text: record.body,
    receiveCount: Number(record.attributes.ApproximateReceiveCount),
    owner: `${context.awsRequestId}/${record.messageId}`,
    remainingMs: () => context.getRemainingTimeInMillis(),
  });
};

// Called by Lambda, with up to ten jobs of the delivery queue or wake-ups of the retry queue

export const handler = deadline.timed(sqsHandler(journal, deliverRecord));
