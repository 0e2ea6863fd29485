import type { AwsAccess } from '../../shared/adapters/aws/client-options.ts';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries/deliveries.ts';
import { dynamoPullSubscriptions } from '../../shared/adapters/dynamodb/subscriptions/subscription-registry.ts';
import { createPacing, invocationDeadline } from '../../shared/adapters/lambda/invocation-deadline.ts';
import { powertoolsJournal } from '../../shared/adapters/log/journal.ts';
import { sqsClient } from '../../shared/adapters/sqs/client.ts';
import { sqsWakeUps } from '../../shared/adapters/sqs/queues.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { readEnvironment, type Source } from '../../shared/config/environment.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import type { InvocationContext } from '../../shared/domain/receives.ts';
import type { EndWaitsContext } from './end-waits.ts';
import { type ReconcileContext, runReconcile } from './reconcile.ts';

/**
 * Ports and settings of reconcile from an environment: the function's by default, a worker's otherwise.
 * @throws EnvironmentError
 */
export function composeReconcile(source?: Source, access: AwsAccess = {}) {
  const environment = readEnvironment('reconcile', source);
  const journal = powertoolsJournal('reconcile', environment);
  const deadline = invocationDeadline();
  const invocation = { deadline, journal, ...access };
  const [dynamo, sqs] = [dynamoClient(invocation), sqsClient(invocation)];
  const context: ReconcileContext & EndWaitsContext = {
    ports: {
      clock,
      journal,
      deliveries: dynamoDeliveries(dynamo, environment.deliveriesTable),
      pullSubscriptions: dynamoPullSubscriptions(dynamo, environment.subscriptionsTable),
      wakeUps: sqsWakeUps({ ...createPacing(deadline), sqs, queueUrl: environment.retryQueueUrl }),
    },
    settings: {
      overdueAfterMs: environment.overdueAfterSeconds * 1000,
      retentionMs: environment.retentionDays * DAY_MS,
    },
  };
  return {
    journal,
    deadline,
    /** @throws AggregateError if some could not be woken: a later run finds them again */
    run: (invocation: InvocationContext) =>
      runReconcile(context, () => invocation.getRemainingTimeInMillis()),
  };
}
