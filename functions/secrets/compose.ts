import { kmsClient, kmsSecretOpener } from '../../shared/adapters/kms/signing-secrets.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { readEnvironment } from '../../shared/config/environment.ts';
import { commonPorts } from '../api/common-ports.ts';
import type { SecretDependencies } from '../api/dependencies.ts';
import { composeAws } from '../compose.ts';

/** Ports and settings of the routes that open secrets. @throws EnvironmentError */
export function composeSecrets() {
  const environment = readEnvironment('secrets');
  const aws = composeAws('secrets', environment);
  const { deadline, journal, invocation } = aws;
  const dependencies: SecretDependencies = {
    ...commonPorts(aws, environment),
    secretOpener: kmsSecretOpener(kmsClient(invocation), { keyArn: environment.secretsKeyArn, clock }),
    settings: {
      ...aws.settings,
      userAgent: environment.userAgent,
      jwtScopes: environment.jwtScopes,
      jwtQueuesClaim: environment.jwtQueuesClaim,
    },
  };
  return { dependencies, deadline, journal };
}
