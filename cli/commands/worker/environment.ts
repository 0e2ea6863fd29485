import * as z from 'zod';
import type { AwsAccess } from '../../../shared/adapters/aws/client-options.ts';
import type { Source } from '../../../shared/config/environment.ts';
import { variables } from '../../../shared/config/resources.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { findDeployment, type DeploymentChoice } from '../../deployment.ts';

/** What a worker runs on. `access`: by default the SDK's region and chain of credentials. */
export type WorkerEnvironment = { environment: Source; access: AwsAccess; place: string };

const environmentSchema = z.record(z.string(), z.string());

/**
 * The variables of the functions: of the process where they are set, as in a container; otherwise of a deployment, which
 * has them as an output.
 * @throws Problem if there is no deployment, or one of an earlier version
 */
export async function findWorkerEnvironment(
  choice: DeploymentChoice,
  env: Source,
): Promise<WorkerEnvironment> {
  const isChosen = choice.local === true || choice.deployment !== undefined;
  if (!isChosen && env[variables.version] !== undefined)
    return { environment: env, access: {}, place: 'the deployment that the environment describes' };
  const { workerEnvironment, client, place, name } = await findDeployment(choice);
  if (workerEnvironment === undefined)
    throw new Problem(
      `${place ?? name} has no output WorkerEnvironment, which tells a worker its settings: deploy this version first.`,
    );
  const environment = environmentSchema.parse(JSON.parse(workerEnvironment));
  return { environment, access: client, place: place ?? name };
}

/** Lines for `docker run --env-file`, `kubectl create configmap --from-env-file` and systemd's EnvironmentFile. */
export function environmentLines({ environment, access }: WorkerEnvironment): string[] {
  const endpoint = access.endpoint === undefined ? [] : [`AWS_ENDPOINT_URL=${access.endpoint}`];
  const named = new Set<string>([...Object.values(variables), 'AWS_REGION', 'UV_THREADPOOL_SIZE']);
  return [
    ...Object.entries(environment)
      .filter(([name, value]) => named.has(name) && value !== undefined)
      .map(([name, value]) => `${name}=${value ?? ''}`)
      .toSorted(),
    ...endpoint,
  ];
}
