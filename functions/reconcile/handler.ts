import type { Context } from 'aws-lambda';
import { documentClient, sqsClient } from '../../shared/adapters/aws-clients.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamo-deliveries.ts';
import { invocationDeadline } from '../../shared/adapters/invocation-deadline.ts';
import { powertoolsJournal } from '../../shared/adapters/powertools-journal.ts';
import { sqsWakeUps } from '../../shared/adapters/sqs-wake-ups.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { reconcileEnvironment } from '../../shared/config/environment.ts';
import { reconcile, type Reconciliation } from '../../shared/pipeline/reconcile.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';

// Once per cold start

const environment = reconcileEnvironment();
const journal = powertoolsJournal({ deployment: environment.deployment, service: 'reconcile' });
const deadline = invocationDeadline();
const dynamo = documentClient({ deadline });

const reconcileContext = {
  ports: {
    clock,
    journal,
    deliveries: dynamoDeliveries(dynamo, environment.deliveriesTable),
    wakeUps: sqsWakeUps(sqsClient({ deadline }), environment.retryQueueUrl),
  },
  settings: {
    overdueAfterMs: environment.overdueAfterSeconds * 1000,
    retentionMs: environment.retentionDays * DAY_MS,
  },
};

// Called by Lambda, every minute. A throw is a failed run, which shows in the function's errors; the next minute goes on.

export const handler = deadline.timed(async (_event: unknown, context: Context): Promise<Reconciliation> => {
  try {
    return await reconcile(reconcileContext, () => context.getRemainingTimeInMillis());
  } catch (error) {
    journal.fault(error, { requestId: context.awsRequestId });
    throw error;
  } finally {
    journal.flush();
  }
});
