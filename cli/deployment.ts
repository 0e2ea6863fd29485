import type { CloudFormation, Output, Stack } from '@aws-sdk/client-cloudformation';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { failureText } from './failure-text.ts';
import { clientOf, endpointsFile, readEndpoints, resourcesOf, type Resources } from '../local/endpoints.ts';
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

const DEFAULT_DEPLOYMENT = 'Posthaste';

/**
 * Finds a deployment: a local one by the endpoints file of `npm start`, one in AWS by its stack outputs in the account
 * and region of the environment. After a command has used the local deployment, the first one in AWS must be named.
 * @throws Problem with advice when there is none.
 */
export async function findDeployment(
  { local, deployment }: DeploymentChoice,
  localFile = endpointsFile,
): Promise<Deployment> {
  const usedLocal = path.join(path.dirname(localFile), 'used-by-last-command');
  if (deployment === undefined) {
    const found = localDeployment(localFile);
    if (found !== undefined) {
      if (!existsSync(usedLocal)) remember(usedLocal);
      return found;
    }
    if (local === true)
      throw new Problem('No local deployment is running. Run npm start in another terminal, then try again.');
    if (existsSync(usedLocal)) throw new Problem(LOCAL_IS_GONE);
  }
  const found = await deployedInAws(deployment);
  rmSync(usedLocal, { force: true });
  return found;
}

const LOCAL_IS_GONE =
  'The last command used the local deployment, which is not running. ' +
  `Run npm start in another terminal, or name the deployment in AWS once: --deployment ${DEFAULT_DEPLOYMENT}.`;

function remember(file: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, '');
}

function localDeployment(file: string): Deployment | undefined {
  try {
    const endpoints = readEndpoints(file);
    if (endpoints === undefined) return undefined;
    const { endpoint, region, accessKeyId, secretAccessKey, ...resources } = endpoints;
    const client = clientOf({ endpoint, region, accessKeyId, secretAccessKey });
    return { ...resources, name: 'the local deployment', client };
  } catch (cause) {
    throw new Problem(
      `${file} is incomplete, or was written by another version. Stop npm start and run it again.`,
      { cause },
    );
  }
}

async function deployedInAws(chosen: string | undefined): Promise<Deployment> {
  const name = chosen ?? DEFAULT_DEPLOYMENT;
  // Loaded only here: commands on a local deployment do not need this SDK client.
  const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
  const cloudFormation = new CloudFormation();
  await cloudFormation.config.region().catch((cause: unknown) => {
    throw new Problem(noRegionText(chosen), { cause });
  });
  const stacks = [`${name}Pipeline`, `${name}State`];
  const found = await Promise.all(stacks.map((stack) => lookUp(cloudFormation, stack, chosen)));
  const outputs = found.flatMap(({ Outputs = [] }) => Outputs).flatMap(namedValue);
  try {
    const place = placeOf(name, found[0]?.StackId);
    return { ...resourcesOf(Object.fromEntries(outputs)), name, place, client: {} };
  } catch (cause) {
    if (!(cause instanceof z.ZodError)) throw cause;
    const missing = cause.issues.map(({ path }) => path.join('.')).join(', ');
    throw new Problem(
      `The stacks ${stacks.join(' and ')} have no output ${missing}. They were deployed by another version: deploy this version first.`,
      { cause },
    );
  }
}

function noRegionText(chosen: string | undefined): string {
  return chosen === undefined
    ? 'No local deployment runs, and no AWS region is set. Run npm start in another terminal, or set AWS_REGION or AWS_PROFILE.'
    : `No AWS region is set, so the deployment ${chosen} cannot be looked up. Set AWS_REGION or AWS_PROFILE.`;
}

/** The id of a stack is an ARN, which names region and account. */
function placeOf(name: string, stackId = ''): string {
  const [, , , region, account] = stackId.split(':');
  return region === undefined || account === undefined ? name : `${name}, account ${account}, ${region}`;
}

async function lookUp(
  cloudFormation: CloudFormation,
  stack: string,
  chosen: string | undefined,
): Promise<Pick<Stack, 'StackId' | 'Outputs'>> {
  try {
    const { Stacks: [found = {}] = [] } = await cloudFormation.describeStacks({ StackName: stack });
    return found;
  } catch (cause) {
    throw new Problem(lookupFailure(stack, chosen, cause), { cause });
  }
}

function namedValue({ OutputKey, OutputValue }: Output): (readonly [string, string])[] {
  return OutputKey === undefined || OutputValue === undefined ? [] : [[OutputKey, OutputValue]];
}

/** CloudFormation reports a missing stack as a ValidationError, so the message text has to be checked. */
function lookupFailure(stack: string, chosen: string | undefined, cause: unknown): string {
  return cause instanceof Error &&
    cause.name === 'ValidationError' &&
    cause.message.includes('does not exist')
    ? `There is no stack ${stack} in this AWS account and region${chosen === undefined ? ', and no local deployment is running' : ''}. ` +
        'Check AWS_PROFILE and AWS_REGION, or choose another stack name prefix with --deployment.'
    : `The stack ${stack} could not be looked up in AWS: ${failureText(cause)}. ` +
        'Check AWS_PROFILE and AWS_REGION: credentials and region come from the environment, as for the AWS CLI.';
}
