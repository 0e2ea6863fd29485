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

/** Lambda logs what a function throws, with all that hangs on it; what there is to say of it is in the log by then. */
class RunFailedError extends Error {
  override readonly name = 'RunFailedError';
  constructor(fault: unknown) {
    super(`${fault instanceof Error ? fault.name : 'Something'} was thrown; the fault in the log says more.`);
  }
}

// Called by Lambda, every minute. A throw is a failed run, which shows in the function's errors; the next minute goes on.

export const handler = deadline.timed(async (_event: unknown, context: Context): Promise<Reconciliation> => {
  try {
    return await reconcile(reconcileContext, () => context.getRemainingTimeInMillis());
  } catch (error) {
    journal.fault(error, { requestId: context.awsRequestId });
    throw new RunFailedError(error);
  } finally {
    journal.flush();
  }
});
