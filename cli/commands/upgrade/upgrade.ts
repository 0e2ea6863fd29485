import type { CloudFormation, Stack } from '@aws-sdk/client-cloudformation';
import { Problem } from '../../../local/install/problem.mjs';
import { ONE_WAY_CHANGES, type OneWayChange } from '../../../shared/adapters/dynamodb/one-way-changes.ts';
import { findEnvironment, locateInAws, stackNamed } from '../../deployment.ts';
import { failureText } from '../../failure-report.ts';
import { collect, option } from '../../options/arguments.ts';
import { standalone } from '../../options/deployed.ts';
import { parseDeployment } from '../../options/deployment-options.ts';
import { tableLines } from '../../output/list.ts';
import { type NewStack, readAssembly, synthesise } from './assembly.ts';
import { previewChanges } from './change-set.ts';
import {
  type Change,
  compareTemplates,
  findLosses,
  findVersion,
  isSameCode,
  type Loss,
  type Template,
  templateSchema,
} from './compare.ts';

type Options = {
  check?: true;
  static?: true;
  deployment?: string;
  templates?: string;
  app?: string;
  context?: readonly string[];
};

const DEPLOY = 'npx cdk deploy --all';

/** `posthaste upgrade` */
export const upgrade = standalone<Options>({
  options: [
    option('--check', 'say what would change; required, because the CDK does the upgrade'),
    option('--deployment <NAME>', 'check the deployment in AWS of this name', parseDeployment),
    option('--templates <FOLDER>', 'read the new templates from this output of cdk synth').conflicts([
      'app',
      'context',
    ]),
    option('--app <COMMAND>', 'synthesise the CDK app that this command runs'),
    option('-c, --context <KEY=VALUE>', 'context for cdk synth; repeatable', collect(String)),
    option('--static', 'compare templates only, without change sets'),
  ],
  json: 'versions, changes by stack, losses, one-way changes',
  more: `
Compares the stacks of a deployment in AWS with those of the CDK app in the
current folder, which it synthesises. Nothing is deployed. CloudFormation itself
says what it would replace: the command creates a change set for each stack and
deletes it again. A long template is uploaded to the bucket of cdk bootstrap
first, as cdk deploy does. Where that is not possible, or with --static, it
compares the templates, and knows replacements of tables, buckets, keys, queues
and other resources with data only.

Exit status: 0 if nothing with data is replaced or removed, otherwise 1.

To upgrade: ${DEPLOY}
`,
  examples: ['upgrade --check', 'upgrade --check --templates cdk.out --json'],
  run: async ({ options, terminal, refuse }) => {
    if (options.check !== true) refuse(`only --check exists. To upgrade, run it first, then: ${DEPLOY}`);
    const report = await terminal.untilInterrupted((signal) => check(options, terminal.env, signal));
    terminal.exitStatus = report.losses.length === 0 ? 0 : 1;
    return [report, () => reportText(report)];
  },
});

type StackReport = {
  stack: string;
  /** Who says what would be replaced. */
  source: 'change_set' | 'templates' | 'new_stack';
  /** Why there is no change set. */
  reason?: string;
  changes: readonly Change[];
  /** What CloudFormation may update only because it refers to what changes. */
  referring: readonly Change[];
};

type Report = {
  deployment: string;
  from: string | undefined;
  to: string | undefined;
  stacks: readonly StackReport[];
  losses: readonly (Loss & { stack: string })[];
  oneWay: readonly OneWayChange[];
};

/** `deployed`: undefined for a stack that is not deployed yet. */
type Compared = { report: StackReport; deployed?: Template };

async function check(options: Options, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Report> {
  const { place, stack, cloudFormation } = await locateInAws(options.deployment);
  const folder = options.templates ?? (await synthesise(options, env, signal));
  const next = readAssembly(folder).filter((one) => isBeside(stack, one));
  if (!next.some(({ name }) => name === stack.StackName))
    throw new Problem(
      `The new templates have no stack ${stack.StackName} for this account and region, but ${next.map(({ name }) => name).join(', ') || 'none'}. ` +
        'They belong to another deployment.',
    );
  const compared: Compared[] = [];
  for (const one of next) compared.push(await compareStack(cloudFormation, one, options, signal));
  const deployed = compared.flatMap((one) => one.deployed ?? []);
  const [from, to] = [findVersion(deployed), findVersion(next.map(({ template }) => template))];
  const losses = compared.flatMap((one) => lossesIn(one));
  const changes = compared.flatMap(({ report }) => report.changes);
  return {
    deployment: place,
    from,
    to,
    stacks: compared.map(({ report }) => report),
    losses,
    oneWay: isSameCode(changes) ? [] : changesBetween(from, to),
  };
}

/** Whether a stack is for the account and region of this one. Other stages of an app may have stacks of the same names. */
function isBeside(stack: Partial<Stack>, { environment }: NewStack): boolean {
  const { account, region } = findEnvironment(stack);
  const [, , ofAccount = '', ofRegion = ''] = environment.split('/');
  return [account, 'unknown-account'].includes(ofAccount) && [region, 'unknown-region'].includes(ofRegion);
}

function lossesIn({ report, deployed }: Compared): (Loss & { stack: string })[] {
  if (deployed === undefined) return [];
  return findLosses([...report.changes, ...report.referring], deployed).map((loss) => ({
    stack: report.stack,
    ...loss,
  }));
}

async function compareStack(
  cloudFormation: CloudFormation,
  next: NewStack,
  options: Options,
  signal: AbortSignal,
): Promise<Compared> {
  signal.throwIfAborted();
  const { name: stack, template } = next;
  const found = await stackNamed(cloudFormation, stack);
  if (found === undefined) {
    const changes = compareTemplates({ Resources: {}, Parameters: {} }, template);
    return { report: { stack, source: 'new_stack', changes, referring: [] } };
  }
  const { TemplateBody = '' } = await cloudFormation.getTemplate({ StackName: stack });
  const deployed = templateSchema.parse(JSON.parse(TemplateBody));
  const changes = compareTemplates(deployed, template);
  const report = { stack, source: 'templates', changes, referring: [] } as const;
  if (options.static === true) return { report, deployed };
  try {
    const stackId = found.StackId ?? '';
    const previewed = await previewChanges(cloudFormation, next, { deployed, stackId, signal });
    const direct = new Set(changes.map(({ logicalId }) => logicalId));
    const { own = [], referring = [] } = Object.groupBy(previewed, ({ logicalId }) =>
      direct.has(logicalId) ? 'own' : 'referring',
    );
    return { report: { stack, source: 'change_set', changes: own, referring }, deployed };
  } catch (cause) {
    signal.throwIfAborted();
    return { report: { ...report, reason: failureText(cause) }, deployed };
  }
}

/**
 * The one-way changes that lie between two versions, in either direction. Deployments of checkouts of one version are
 * not told apart, so those of that version are among them.
 */
function changesBetween(from = '0.0.0', to = '0.0.0'): OneWayChange[] {
  const [low = from, high = to] = [from, to].toSorted(compareVersions);
  const isOneVersion = low === high;
  return ONE_WAY_CHANGES.filter(
    ({ since }) =>
      compareVersions(since, high) <= 0 && (isOneVersion ? since === low : compareVersions(since, low) > 0),
  );
}

function compareVersions(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

function reportText(report: Report): string {
  const { deployment, from = 'unknown', to = 'unknown', stacks, losses, oneWay } = report;
  const goesBack = compareVersions(to, from) < 0;
  const before = goesBack ? [] : oneWay.flatMap((change) => change.before ?? []);
  return [
    `${deployment}: version ${from} to ${to}`,
    ...stacks.flatMap(stackLines),
    '',
    ...lossLines(losses),
    ...section('Before you deploy:', before),
    ...section(goesBack ? 'Before you go back:' : 'To go back later:', oneWay.map(wayBackText)),
  ].join('\n');
}

function wayBackText({ since, what, earlier, back }: OneWayChange): string {
  const advice = back ?? `From ${since} there is no way back once it is written.`;
  return `${what}: an earlier version ${earlier}. ${advice}`;
}

function stackLines({ stack, source, reason, changes, referring }: StackReport): string[] {
  const by = { change_set: 'CloudFormation', templates: 'compared by template', new_stack: 'a new stack' }[
    source
  ];
  const rows = changes.map(({ action, type, logicalId, properties }) => [
    `  ${action.replaceAll('_', ' ')}`,
    type,
    logicalId,
    properties.join(', '),
  ]);
  return [
    '',
    `${stack} (${by}${reason === undefined ? '' : `: ${reason}`})`,
    ...(rows.length === 0
      ? ['  no change']
      : tableLines(['  CHANGE', 'TYPE', 'RESOURCE', 'PROPERTIES'], rows)),
    ...(referring.length === 0 ? [] : [`  and ${referring.length} that refer to them (--json lists these)`]),
  ];
}

function lossLines(losses: Report['losses']): string[] {
  if (losses.length === 0) return ['Nothing with data is replaced or removed.'];
  return [
    'Do not deploy. The deployment would lose what these hold:',
    ...losses.map(({ action, type, logicalId, stack, stays }) => {
      const end = stays ? 'it stays in the account, outside of the stack' : 'it is deleted';
      return `  ${stack} ${logicalId} (${type}) ${action.replaceAll('_', ' ')}: ${end}`;
    }),
    'Restore the id of the construct, or the property, or move the data first.',
  ];
}

function section(head: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', head, ...lines.map((line) => `- ${line}`)];
}
