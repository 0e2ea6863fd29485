import '../api/jitless.ts';
import { randomBytes } from 'node:crypto';
import { dynamoChunks, dynamoSeparateRecords } from '../../shared/adapters/dynamodb/chunks.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/message-records.ts';
import { dynamoRegistry } from '../../shared/adapters/dynamodb/subscription-registry.ts';
import { kmsClient, kmsSecretOpener } from '../../shared/adapters/kms/signing-secrets.ts';
import { lazyPayloads } from '../../shared/adapters/lambda/on-demand.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { readEnvironment } from '../../shared/config/environment.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import { createSecretsApi } from '../api/app.ts';
import { auditLog } from '../api/audit.ts';
import { chunkedDeliveries } from '../api/deliveries/chunked-deliveries.ts';
import type { SecretDependencies } from '../api/dependencies.ts';
import { answerHttpApi } from '../api/http-api-event.ts';
import { composeAws } from '../compose.ts';

// Once per cold start

const environment = readEnvironment('secrets');
const { deadline, journal, ...aws } = composeAws('secrets', environment);
const api = createSecretsApi(dependencies());

// Called by Lambda for each request to a route that opens secrets

export const handler = deadline.timed(async (event: unknown) => {
  try {
    return await answerHttpApi(api, event);
  } finally {
    await journal.flush();
  }
});

function dependencies(): SecretDependencies {
  const { subscriptionsTable, deliveriesTable } = environment;
  const { invocation, dynamo, pacing } = aws;
  return {
    journal,
    clock,
    randomBytes,
    registry: dynamoRegistry(dynamo, subscriptionsTable, { ...clock, ...pacing }),
    messageRecords: dynamoMessageRecords(dynamo, deliveriesTable),
    payloads: lazyPayloads(invocation, environment.payloadBucket),
    deliveries: chunkedDeliveries({
      deliveries: dynamoDeliveries(dynamo, deliveriesTable),
      chunks: {
        ...dynamoChunks(dynamo, deliveriesTable),
        ...dynamoSeparateRecords(dynamo, deliveriesTable, pacing),
      },
    }),
    secretOpener: kmsSecretOpener(kmsClient(invocation), { keyArn: environment.secretsKeyArn, clock }),
    audit: auditLog(journal.auditLogger),
    reportFault: (fault, ids) => {
      journal.fault(fault, ids);
    },
    settings: {
      userAgent: environment.userAgent,
      retentionMs: environment.retentionDays * DAY_MS,
      retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
      jwtScopes: environment.jwtScopes,
      jwtQueuesClaim: environment.jwtQueuesClaim,
    },
  };
}
