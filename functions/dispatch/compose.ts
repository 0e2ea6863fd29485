import type { AwsAccess } from '../../shared/adapters/aws/client-options.ts';
import { cachedEventTypes } from '../../shared/adapters/dynamodb/subscriptions/event-types.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamodb/subscriptions/subscriptions.ts';
import { lazyValidation } from '../../shared/adapters/pattern/lazy-validation.ts';
import { lazyReferencedData } from '../../shared/adapters/s3/lazy-referenced-data.ts';
import { sqsDeadLetters } from '../../shared/adapters/sqs/dead-letters.ts';
import { type ConsumedQueue, receivedRecords } from '../../shared/adapters/sqs/failed-records.ts';
import { sqsDeliveryQueue } from '../../shared/adapters/sqs/queues.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { type Environment, readEnvironment, type Source } from '../../shared/config/environment.ts';
import { DISPATCH_TIMEOUT_SECONDS } from '../../shared/domain/delivery/fan-out.ts';
import { type Aws, composeAws } from '../compose.ts';
import { dispatchRecord, messageIdsIn, type IngressContext } from './ingress-record.ts';
import type { SQSRecord } from 'aws-lambda';

/**
 * Ports and settings of dispatch from an environment: the function's by default, a worker's otherwise.
 * @throws EnvironmentError
 */
export function composeDispatch(source?: Source, access: AwsAccess = {}) {
  const environment = readEnvironment('dispatch', source);
  const aws = composeAws('dispatch', environment, access);
  const { deadline, journal, sqs } = aws;
  const queues: readonly ConsumedQueue[] = [{ name: 'ingress', url: environment.ingressQueueUrl }];
  const context = createDispatchContext(environment, aws);
  return {
    journal,
    deadline,
    queues,
    timeoutMs: DISPATCH_TIMEOUT_SECONDS * 1000,
    handleRecord: (record: SQSRecord) => dispatchRecord(context, record),
    ...receivedRecords({ sqs, queues, random: Math.random }),
    deadLetters: context.ports.deadLetters,
    idsOf: (record: SQSRecord) => messageIdsIn(record, environment.ingressRoutes),
    /** @throws what AWS answers to callers that may not read the table */
    probe: () => context.ports.subscriptions.page('probe', 'cached'),
  };
}

/**
 * Time needed to start another page, in milliseconds: half of the timeout. A page takes under a second unless AWS
 * calls are retried.
 */
const PAGE_MS = 15_000;

/** The adapter of each port, and the settings converted to the units the steps use. */
function createDispatchContext(
  environment: Environment<'dispatch'>,
  { deadline, invocation, dynamo, sqs, pacing, ports, settings }: Aws,
): IngressContext {
  const cache = { clock, cacheSeconds: environment.subscriptionCacheSeconds };
  return {
    hasTime: () => deadline.remainingMs() >= PAGE_MS,
    ports: {
      ...ports,
      subscriptions: dynamoSubscriptions(dynamo, environment.subscriptionsTable, cache),
      eventTypes: cachedEventTypes(dynamo, environment.subscriptionsTable, cache),
      validateEvent: lazyValidation(),
      referencedData: lazyReferencedData(invocation),
      deliveryQueue: sqsDeliveryQueue({ ...pacing, sqs, queueUrl: environment.deliveryQueueUrl }),
      deadLetters: sqsDeadLetters(sqs, environment.ingressDeadLetterUrl),
    },
    settings: {
      ...settings,
      retainMessages: environment.retainMessages,
      eventValidation: environment.eventValidation,
      firstAttemptsPerJob: environment.firstAttemptsPerJob,
      payloadSources: environment.payloadSources,
      ingressRoutes: environment.ingressRoutes,
      tracing: environment.tracing,
    },
  };
}
