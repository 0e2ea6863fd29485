import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { START } from '../local/command-name.ts';
import { DEFAULT_DEPLOYMENT, findInAws } from './deployment-in-aws.ts';
import {
  clientOf,
  endpointsFile,
  removeEndpoints,
  resourcesOf,
  type Resources,
  runningEndpoints,
} from '../local/endpoints.ts';
import { Problem } from '../local/install/problem.mjs';

/** Which deployment to use. By default the local one (`npm start`) if it is running, otherwise `Posthaste` in AWS. */
export type DeploymentChoice = { local?: true; deployment?: string };

/** A deployed system, and the SDK client options that reach it. */
export type Deployment = Resources & {
  /** Display name. */
  name: string;
  /** The name with account and region, where these are known. */
  place?: string;
  client: {
    endpoint?: string;
    region?: string;
    credentials?: { accessKeyId: string; secretAccessKey: string };
  };
};

/**
 * Finds a deployment: a local one by the endpoints file of `npm start`, one in AWS by the outputs of its stacks in the
 * account and region of the environment. After a command has used the local deployment, the first one in AWS must be named.
 * @throws Problem with advice when there is none.
 */
export async function findDeployment(
  { local, deployment }: DeploymentChoice,
  localFile = endpointsFile,
): Promise<Deployment> {
  const usedLocal = path.join(path.dirname(localFile), 'used-by-last-command');
  if (deployment === undefined) {
    const found = await localDeployment(localFile);
    if (found !== undefined) {
      if (!existsSync(usedLocal)) {
        mkdirSync(path.dirname(usedLocal), { recursive: true });
        writeFileSync(usedLocal, '');
      }
      return found;
    }
    if (local === true)
      throw new Problem(`No local deployment is running. Run ${START} in another terminal, then try again.`);
    if (existsSync(usedLocal)) throw new Problem(LOCAL_IS_GONE);
  }
  const found = await deployedInAws(deployment);
  rmSync(usedLocal, { force: true });
  return found;
}

const LOCAL_IS_GONE =
  'The last command used the local deployment, which is not running. ' +
  `Run ${START} in another terminal, or name the deployment in AWS once: --deployment ${DEFAULT_DEPLOYMENT}.`;

async function localDeployment(file: string): Promise<Deployment | undefined> {
  const found = await runningEndpoints(file).catch((cause: unknown) => {
    throw new Problem(
      `${file} is incomplete, or was written by another version. Stop ${START} and run it again.`,
      { cause },
    );
  });
  if (found === undefined) return undefined;
  if (found === 'stale') {
    removeEndpoints(file);
    console.error(`${file} was left behind by a start that was killed. It is removed, and nothing was sent.`);
    return undefined;
  }
  const { endpoint, region, accessKeyId, secretAccessKey, socket: _, ...resources } = found;
  const client = clientOf({ endpoint, region, accessKeyId, secretAccessKey });
  return { ...resources, name: 'the local deployment', client };
}

async function deployedInAws(chosen: string | undefined): Promise<Deployment> {
  // Loaded only here: commands on a local deployment do not need this SDK client.
  const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
  const cloudFormation = new CloudFormation();
  await cloudFormation.config.region().catch((cause: unknown) => {
    const text =
      chosen === undefined
        ? `No local deployment runs, and no AWS region is set. Run ${START} in another terminal, or set AWS_REGION or AWS_PROFILE.`
        : `No AWS region is set, so the deployment ${chosen} cannot be looked up. Set AWS_REGION or AWS_PROFILE.`;
    throw new Problem(text, { cause });
  });
  const { name, place, outputs } = await findInAws(cloudFormation, chosen);
  try {
    return { ...resourcesOf(outputs), name, place, client: {} };
  } catch (cause) {
    if (!(cause instanceof z.ZodError)) throw cause;
    const missing = cause.issues.map(({ path }) => path.join('.')).join(', ');
    throw new Problem(
      `The stacks of ${name} have no output ${missing}. They were deployed by another version: deploy this version first.`,
      { cause },
    );
  }
}
