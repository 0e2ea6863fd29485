import type { CloudFormation, Output } from '@aws-sdk/client-cloudformation';
import * as z from 'zod';
import { failureText } from './failure-text.ts';
import { clientOf, endpointsFile, readEndpoints, resourcesOf, type Resources } from '../local/endpoints.ts';
import { Problem } from '../local/install/problem.mjs';

/** Which one is meant. Neither: the local start if one is up, else the default one in AWS. */
export type DeploymentChoice = { local?: true; deployment?: string };

/** A deployed system, and how the SDK's clients reach it. */
export type Deployment = Resources & {
  /** For people. */
  name: string;
  client: {
    endpoint?: string;
    region?: string;
    credentials?: { accessKeyId: string; secretAccessKey: string };
  };
};

const DEFAULT_DEPLOYMENT = 'Posthaste';

/**
 * Finds a deployment by the file that the local start leaves, or by the outputs of its stacks in the account and region
 * of the environment.
 * @throws Problem with what to do, when there is none.
 */
export async function findDeployment(
  { local, deployment }: DeploymentChoice,
  localFile = endpointsFile,
): Promise<Deployment> {
  if (deployment === undefined) {
    const found = localDeployment(localFile);
    if (found !== undefined) return found;
    if (local === true)
      throw new Problem('No local start is up. Start one with npm start, in another terminal.');
  }
  return deployedAs(deployment ?? DEFAULT_DEPLOYMENT);
}

function localDeployment(file: string): Deployment | undefined {
  try {
    const endpoints = readEndpoints(file);
    if (endpoints === undefined) return undefined;
    const { endpoint, region, accessKeyId, secretAccessKey, ...resources } = endpoints;
    const client = clientOf({ endpoint, region, accessKeyId, secretAccessKey });
    return { ...resources, name: 'the local start', client };
  } catch (cause) {
    throw new Problem(`${file} is not what this version of the local start writes. Start it again.`, {
      cause,
    });
  }
}

async function deployedAs(name: string): Promise<Deployment> {
  // Not loaded before: what works on the local start has no use for it.
  const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
  const cloudFormation = new CloudFormation();
  const stacks = [`${name}Pipeline`, `${name}State`];
  const outputs = await Promise.all(stacks.map((stack) => outputsOf(cloudFormation, stack)));
  try {
    return { ...resourcesOf(Object.fromEntries(outputs.flat())), name, client: {} };
  } catch (cause) {
    if (!(cause instanceof z.ZodError)) throw cause;
    const missing = cause.issues.map(({ path }) => path.join('.')).join(', ');
    throw new Problem(
      `The stacks ${stacks.join(' and ')} have no output ${missing}. Deploy this version of them first.`,
      { cause },
    );
  }
}

async function outputsOf(
  cloudFormation: CloudFormation,
  stack: string,
): Promise<(readonly [string, string])[]> {
  try {
    const { Stacks = [] } = await cloudFormation.describeStacks({ StackName: stack });
    return Stacks.flatMap(({ Outputs = [] }) => Outputs).flatMap(namedValue);
  } catch (cause) {
    throw new Problem(notFound(stack, cause), { cause });
  }
}

function namedValue({ OutputKey, OutputValue }: Output): (readonly [string, string])[] {
  return OutputKey === undefined || OutputValue === undefined ? [] : [[OutputKey, OutputValue]];
}

/** CloudFormation has no error of its own for a stack that is not there. */
function notFound(stack: string, cause: unknown): string {
  return cause instanceof Error &&
    cause.name === 'ValidationError' &&
    cause.message.includes('does not exist')
    ? `There is no stack ${stack} in this AWS account and region, and no local start is meant or up. ` +
        'Check AWS_PROFILE and AWS_REGION, or name another prefix with --deployment.'
    : `The stack ${stack} could not be looked up in AWS: ${failureText(cause)}. ` +
        'Credentials and region come from the environment, as for the AWS CLI.';
}
