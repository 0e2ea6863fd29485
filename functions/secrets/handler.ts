import '../api/jitless.ts';
import { kmsClient, kmsSecretOpener } from '../../shared/adapters/kms/signing-secrets.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { readEnvironment } from '../../shared/config/environment.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import { createSecretsApi } from '../api/app.ts';
import { commonPorts } from '../api/compose.ts';
import type { SecretDependencies } from '../api/dependencies.ts';
import { answerHttpApi } from '../api/http-api-event.ts';
import { composeAws } from '../compose.ts';

// Once per cold start

const environment = readEnvironment('secrets');
const aws = composeAws('secrets', environment);
const { deadline, journal } = aws;
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
  return {
    ...commonPorts(aws, environment),
    secretOpener: kmsSecretOpener(kmsClient(aws.invocation), { keyArn: environment.secretsKeyArn, clock }),
    settings: {
      userAgent: environment.userAgent,
      retentionMs: environment.retentionDays * DAY_MS,
      retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
      jwtScopes: environment.jwtScopes,
      jwtQueuesClaim: environment.jwtQueuesClaim,
    },
  };
}
