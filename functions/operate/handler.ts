import type { Context, SQSRecord } from 'aws-lambda';
import { sqsClient } from '../../shared/adapters/aws/queue-client.ts';
import { invocationDeadline } from '../../shared/adapters/invocation-deadline.ts';
import { powertoolsJournal } from '../../shared/adapters/powertools-journal.ts';
import { sqsDeadLetters } from '../../shared/adapters/sqs-dead-letters.ts';
import { awsEnvironment, operateEnvironment } from '../../shared/config/environment.ts';
import { parseOperation } from '../../shared/messages/operation.ts';
import { operate } from '../../shared/pipeline/operate.ts';
import { sqsHandler } from '../sqs-handler.ts';
import { operateContextOf } from './operate-context.ts';

// Once per cold start

const environment = operateEnvironment();
const journal = powertoolsJournal('operate', environment);
const deadline = invocationDeadline();
const operateContext = operateContextOf(environment, journal, deadline);
const deadLetters = sqsDeadLetters(
  sqsClient({ ...awsEnvironment(), deadline, journal }),
  environment.operationDeadLetterUrl,
);

// For every record: a throw means that a service of ours failed, and the message comes again. What can never be
// understood is buried with its reason instead of being tried ten times.

const operateRecord = async (record: SQSRecord, context: Context): Promise<void> => {
  const parsed = parseOperation(record.body);
  if (parsed.ok) {
    await operate(operateContext, parsed.value, () => context.getRemainingTimeInMillis());
    return;
  }
  await deadLetters.bury({ id: record.messageId, body: record.body }, parsed.reason);
  journal.note({ fact: 'dead_lettered', id: record.messageId, reason: parsed.reason });
};

const orderIdsIn = ({ body }: SQSRecord): Record<string, string> => {
  const parsed = parseOperation(body);
  if (!parsed.ok) return {};
  const { kind, queue } = parsed.value;
  return { operation: kind, queue };
};

// Called by Lambda, with one order of the operation queue

export const handler = deadline.timed(sqsHandler(journal, operateRecord, orderIdsIn));
