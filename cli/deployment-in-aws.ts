import type { CloudFormation, Stack } from '@aws-sdk/client-cloudformation';
import { deploymentsIn, type Outputs } from '../local/deployment-outputs.ts';
import { Problem } from '../local/install/problem.mjs';
import { START } from '../local/command-name.ts';
import { failureText } from './failure-report.ts';

export const DEFAULT_DEPLOYMENT = 'Posthaste';

/** `place`: the name with account and region. */
type Found = { name: string; place: string; outputs: Outputs };

/**
 * Finds a deployment by the names of its stacks, as the built-in app has them, or by the output `PosthasteDeployment` in
 * stacks of any name. `chosen`: undefined for `Posthaste`, or the only one there is.
 * @throws Problem with advice when there is none, or several
 */
export async function findInAws(cloudFormation: CloudFormation, chosen: string | undefined): Promise<Found> {
  const name = chosen ?? DEFAULT_DEPLOYMENT;
  const [pipeline, state] = await Promise.all([
    stackNamed(cloudFormation, `${name}Pipeline`),
    stackNamed(cloudFormation, `${name}State`),
  ]);
  if (pipeline === undefined || state === undefined) return findByMarker(cloudFormation, chosen);
  const outputs = { ...outputsOf(state), ...outputsOf(pipeline) };
  return { name, place: placeOf(name, pipeline), outputs };
}

async function findByMarker(cloudFormation: CloudFormation, chosen: string | undefined): Promise<Found> {
  const stacks = await allStacks(cloudFormation);
  const all = deploymentsIn([...stacks.keys()]);
  const candidates = chosen === undefined ? all : all.filter(({ name }) => name === chosen);
  const [found] = candidates;
  if (found === undefined) throw new Problem(noneText(chosen, namesOf(all)));
  if (candidates.length > 1) throw new Problem(severalText(chosen, namesOf(candidates)));
  const { name, outputs, stack } = found;
  return { name, outputs, place: placeOf(name, stacks.get(stack) ?? {}) };
}

/** The stacks of the account and region, by their outputs. */
async function allStacks(cloudFormation: CloudFormation): Promise<Map<Outputs, Stack>> {
  const { paginateDescribeStacks } = await import('@aws-sdk/client-cloudformation');
  const stacks = new Map<Outputs, Stack>();
  try {
    for await (const { Stacks = [] } of paginateDescribeStacks({ client: cloudFormation }, {}))
      for (const stack of Stacks) stacks.set(outputsOf(stack), stack);
    return stacks;
  } catch (cause) {
    throw new Problem(lookupFailure('The stacks', cause), { cause });
  }
}

function namesOf(deployments: readonly { name: string }[]): string {
  return deployments.map(({ name }) => name).join(', ');
}

function noneText(chosen: string | undefined, others: string): string {
  if (chosen === undefined)
    return (
      'There is no deployment of Posthaste in this AWS account and region, and no local deployment is running. ' +
      `Check AWS_PROFILE and AWS_REGION, or run ${START} in another terminal.`
    );
  const there = others === '' ? 'Check AWS_PROFILE and AWS_REGION.' : `There is: ${others}.`;
  return `There is no deployment ${chosen} in this AWS account and region. ${there}`;
}

function severalText(chosen: string | undefined, names: string): string {
  return chosen === undefined
    ? `There are several deployments in this AWS account and region: ${names}. Choose one with --deployment.`
    : `Several stacks have a deployment ${chosen}. Give each another name with the setting deployment.`;
}

/** Undefined if there is no such stack, which CloudFormation reports as a ValidationError. */
async function stackNamed(cloudFormation: CloudFormation, stack: string): Promise<Stack | undefined> {
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

function outputsOf({ Outputs: outputs = [] }: Partial<Stack>): Outputs {
  return Object.fromEntries(
    outputs.flatMap(({ OutputKey: key, OutputValue: value }) =>
      key === undefined || value === undefined ? [] : [[key, value]],
    ),
  );
}

/** The id of a stack is an ARN, which names region and account. */
function placeOf(name: string, { StackId = '' }: Partial<Stack>): string {
  const [, , , region, account] = StackId.split(':');
  return region === undefined || account === undefined
    ? `${name}, this AWS account and region`
    : `${name}, account ${account}, ${region}`;
}

function lookupFailure(what: string, cause: unknown): string {
  return (
    `${what} could not be looked up in AWS: ${failureText(cause)}. ` +
    'Check AWS_PROFILE and AWS_REGION: credentials and region come from the environment, as for the AWS CLI.'
  );
}
