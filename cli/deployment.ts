import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CloudFormation, Stack } from '@aws-sdk/client-cloudformation';
import * as z from 'zod';
import { START } from '../local/command-name.ts';
import {
  deploymentsIn,
  type Outputs,
  toClientOptions,
  endpointsFile,
  removeEndpoints,
  type Resources,
  parseResources,
  runningEndpoints,
} from '../local/endpoints.ts';
import { Problem } from '../local/install/problem.mjs';
import type { AwsAccess } from '../shared/adapters/aws/client-options.ts';
import { failureText } from './failure-report.ts';

const DEFAULT_DEPLOYMENT = 'Posthaste';

/** Which deployment to use. By default the local one (`npm start`) if it is running, otherwise `Posthaste` in AWS. */
export type DeploymentChoice = { local?: true; deployment?: string };

/** A deployed system, and the SDK client options that reach it. */
export type Deployment = Resources & {
  /** Display name. */
  name: string;
  /** The name with account and region, where these are known. */
  place?: string;
  client: AwsAccess;
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
  const client = toClientOptions({ endpoint, region, accessKeyId, secretAccessKey });
  return { ...resources, name: 'the local deployment', client };
}

async function deployedInAws(chosen: string | undefined): Promise<Deployment> {
  const { name, place, outputs } = await locateInAws(chosen).catch((cause: unknown) => {
    if (chosen !== undefined || !(cause instanceof NoneInAws)) throw cause;
    const { fault, advice } = cause;
    const text = `No local deployment is running. ${fault} ${advice}, or run ${START} in another terminal.`;
    throw new Problem(text, { cause });
  });
  try {
    return { ...parseResources(outputs), name, place, client: {} };
  } catch (cause) {
    if (!(cause instanceof z.ZodError)) throw cause;
    const missing = cause.issues.map(({ path }) => path.join('.')).join(', ');
    throw new Problem(
      `The stacks of ${name} have no output ${missing}. They were deployed by another version: deploy this version first.`,
      { cause },
    );
  }
}

/** AWS has no deployment, or cannot be asked. */
class NoneInAws extends Problem {
  /** A sentence. */
  readonly fault: string;
  /** What to do, without a full stop. */
  readonly advice: string;

  constructor(fault: string, advice: string, options?: ErrorOptions) {
    super(`${fault} ${advice}.`, options);
    this.fault = fault;
    this.advice = advice;
  }
}

/**
 * Finds a deployment of any version in AWS, and the client that found it.
 * @throws Problem with advice when there is none, or several
 */
export async function locateInAws(
  chosen: string | undefined,
): Promise<Found & { cloudFormation: CloudFormation }> {
  // Loaded only here: commands on a local deployment do not need this SDK client.
  const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
  const cloudFormation = new CloudFormation();
  await cloudFormation.config.region().catch((cause: unknown) => {
    const what = chosen === undefined ? 'deployments in AWS' : `the deployment ${chosen}`;
    const fault = `No AWS region is set, so ${what} cannot be looked up.`;
    throw new NoneInAws(fault, 'Set AWS_REGION or AWS_PROFILE', { cause });
  });
  return { ...(await findInAws(cloudFormation, chosen)), cloudFormation };
}

/** `place`: the name with account and region. `stack`: that of the pipeline. */
type Found = { name: string; place: string; outputs: Outputs; stack: Partial<Stack> };

/**
 * Finds a deployment by the names of its stacks, as the built-in app has them, or by the output `PosthasteDeployment` in
 * stacks of any name. `chosen`: undefined for `Posthaste`, or the only one there is.
 * @throws Problem with advice when there is none, or several
 */
async function findInAws(cloudFormation: CloudFormation, chosen: string | undefined): Promise<Found> {
  const name = chosen ?? DEFAULT_DEPLOYMENT;
  const [pipeline, state] = await Promise.all([
    stackNamed(cloudFormation, `${name}Pipeline`),
    stackNamed(cloudFormation, `${name}State`),
  ]);
  if (pipeline === undefined || state === undefined) return findByMarker(cloudFormation, chosen);
  const outputs = { ...toOutputs(state), ...toOutputs(pipeline) };
  return { name, place: describePlace(name, pipeline), outputs, stack: pipeline };
}

async function findByMarker(cloudFormation: CloudFormation, chosen: string | undefined): Promise<Found> {
  const stacks = await allStacks(cloudFormation);
  const all = deploymentsIn([...stacks.keys()]);
  const candidates = chosen === undefined ? all : all.filter(({ name }) => name === chosen);
  const [found] = candidates;
  if (found === undefined) throw noneFound(chosen, formatNames(all));
  if (candidates.length > 1) throw new Problem(severalText(chosen, formatNames(candidates)));
  const { name, outputs } = found;
  const stack = stacks.get(found.stack) ?? {};
  return { name, outputs, place: describePlace(name, stack), stack };
}

/** The stacks of the account and region, by their outputs. */
async function allStacks(cloudFormation: CloudFormation): Promise<Map<Outputs, Stack>> {
  const { paginateDescribeStacks } = await import('@aws-sdk/client-cloudformation');
  const stacks = new Map<Outputs, Stack>();
  try {
    for await (const { Stacks = [] } of paginateDescribeStacks({ client: cloudFormation }, {}))
      for (const stack of Stacks) stacks.set(toOutputs(stack), stack);
    return stacks;
  } catch (cause) {
    throw new Problem(lookupFailure('The stacks', cause), { cause });
  }
}

function formatNames(deployments: readonly { name: string }[]): string {
  return deployments.map(({ name }) => name).join(', ');
}

function noneFound(chosen: string | undefined, others: string): NoneInAws {
  const fault = `There is no deployment ${chosen ?? 'of Posthaste'} in this AWS account and region.`;
  return new NoneInAws(fault, others === '' ? 'Check AWS_PROFILE and AWS_REGION' : `There is: ${others}`);
}

function severalText(chosen: string | undefined, names: string): string {
  return chosen === undefined
    ? `There are several deployments in this AWS account and region: ${names}. Choose one with --deployment.`
    : `Several stacks have a deployment ${chosen}. Give each another name with the setting deployment.`;
}

/** A stack; undefined if there is none, which CloudFormation reports as a ValidationError. */
export async function stackNamed(cloudFormation: CloudFormation, stack: string): Promise<Stack | undefined> {
  try {
    const { Stacks = [] } = await cloudFormation.describeStacks({ StackName: stack });
    return Stacks[0];
  } catch (cause) {
    const isMissing =
      cause instanceof Error && cause.name === 'ValidationError' && cause.message.includes('does not exist');
    if (isMissing) return undefined;
    throw new Problem(lookupFailure(`The stack ${stack}`, cause), { cause });
  }
}

export function toOutputs({ Outputs: outputs = [] }: Partial<Stack>): Outputs {
  return Object.fromEntries(
    outputs.flatMap(({ OutputKey: key, OutputValue: value }) =>
      key === undefined || value === undefined ? [] : [[key, value]],
    ),
  );
}

function describePlace(name: string, stack: Partial<Stack>): string {
  const { account, region } = findEnvironment(stack);
  return `${name}, account ${account}, ${region}`;
}

/** The id of a stack is an ARN, which names region and account. */
export function findEnvironment({ StackId = '' }: Partial<Stack>): { account: string; region: string } {
  const [, , , region = '', account = ''] = StackId.split(':');
  return { account, region };
}

function lookupFailure(what: string, cause: unknown): string {
  return (
    `${what} could not be looked up in AWS: ${failureText(cause)}. ` +
    'Check AWS_PROFILE and AWS_REGION: credentials and region come from the environment, as for the AWS CLI.'
  );
}
