import type { Context } from 'aws-lambda';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { sqsClient } from '../../shared/adapters/sqs/client.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries.ts';
import { invocationDeadline, pacingOf } from '../../shared/adapters/lambda/invocation-deadline.ts';
import { powertoolsJournal } from '../../shared/adapters/log/journal.ts';
import { sqsWakeUps } from '../../shared/adapters/sqs/queues.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { reconcileEnvironment } from '../../shared/config/environment.ts';
import { reconcile, type Reconciliation } from './reconcile.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';

// Once per cold start

const environment = reconcileEnvironment();
const journal = powertoolsJournal('reconcile', environment);
const deadline = invocationDeadline();
const invocation = { deadline, journal };
const dynamo = dynamoClient(invocation);

const reconcileContext = {
  ports: {
    clock,
    journal,
    deliveries: dynamoDeliveries(dynamo, environment.deliveriesTable),
    wakeUps: sqsWakeUps({
      ...pacingOf(deadline),
      sqs: sqsClient(invocation),
      queueUrl: environment.retryQueueUrl,
    }),
  },
  settings: {
    overdueAfterMs: environment.overdueAfterSeconds * 1000,
    retentionMs: environment.retentionDays * DAY_MS,
  },
};

// Called by Lambda every minute

export const handler = deadline.timed(handleRun);

// For every run: an error shows in the function's error metric, and the next run continues.

async function handleRun(_event: unknown, invocation: Context): Promise<Reconciliation> {
  try {
    return await reconcile(reconcileContext, () => invocation.getRemainingTimeInMillis());
  } catch (error) {
    journal.fault(error, { requestId: invocation.awsRequestId });
    throw new RunFailedError(error);
  } finally {
    journal.flush();
  }
}

/** Contains only the fault's name: Lambda logs a thrown error with all its properties. */
class RunFailedError extends Error {
  override readonly name = 'RunFailedError';
  constructor(fault: unknown) {
    super(`${fault instanceof Error ? fault.name : 'Unknown error'}: see the fault in the log.`);
  }
}
