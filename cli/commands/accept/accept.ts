import { writeFileSync } from 'node:fs';
import type { SQS } from '@aws-sdk/client-sqs';
import { InvalidArgumentError } from 'commander';
import { counted } from '../../../api-client/words.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { collect, option, parseDuration, wholeNumber } from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { inWords, printable } from '../../output/text.ts';
import { type progressLine, withProgress } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';
import { type Check, type Result, runChecks } from './check.ts';
import { alarmChecks } from './checks/alarms.ts';
import { crashChecks } from './checks/crash.ts';
import { endChecks } from './checks/ends.ts';
import { guardChecks } from './checks/guard.ts';
import { loadChecks } from './checks/load.ts';
import { producerChecks } from './checks/producer.ts';
import { readOnlyChecks } from './checks/read-only.ts';
import { requestChecks } from './checks/requests.ts';
import { retryChecks } from './checks/retries.ts';
import { followReceiverStack, type Receiver, startLocalReceiver } from './receivers.ts';
import { junitReport, resultJson, resultText, summaryText } from './report.ts';
import { readOutputsBeside } from './stacks.ts';
import { createWorld, openDeployment, type OpenDeployment, type World } from './world.ts';

/** All checks, in the order of the help. */
const allChecks: readonly Check[] = [
  ...readOnlyChecks,
  ...producerChecks,
  ...requestChecks,
  ...retryChecks,
  ...endChecks,
  ...guardChecks,
  ...crashChecks,
  ...alarmChecks,
  ...loadChecks,
];

/** `posthaste accept` */
export const accept = deployed<Options>({
  options: [
    option('--only <CHECK>', 'run this check; repeatable', collect(parseCheck)),
    option('--within <DURATION>', 'leave out checks that take longer: seconds, or 3m', parseDuration),
    option('--load <N>', 'also measure this number of deliveries', wholeNumber(1, 1_000_000)),
    option('--url <URL>', 'public URL of the receiver on this machine'),
    option('--port <N>', 'port of that receiver on 127.0.0.1 (default: a free port)', wholeNumber(1, 65_535)),
    option('--junit <FILE>', 'also write the report as JUnit XML'),
  ],
  json: 'one check per line: check, title, state, seconds, detail, advice or reason',
  more: `
Proves on a deployment what Posthaste promises, with queues of this run and a
receiver, and removes all of it at the end, also after Ctrl-C. Messages of
other queues are not touched. It takes about a quarter of an hour and a few
cents.

The receiver of a deployment in AWS is a stack that is deployed beside it
(docs/operations.md, "After you deploy"), or this machine at the URL of --url,
through a tunnel to --port.

Checks:
${allChecks.map(({ id, title }) => `  ${id.padEnd(20)}  ${title}`).join('\n')}

Exit status: 0 if no check failed, otherwise 1.
`,
  examples: ['accept', 'accept --only phases --only signature', 'accept --within 60s --junit accept.xml'],
  run: async ({ options, terminal }) => {
    const checks = choose(options);
    // Loaded only here: completion and help would wait for the SDK.
    const { sqsClient } = await import('../../../shared/adapters/sqs/client.ts');
    // The removal is part of the work: npm sends Ctrl-C twice, and the second one would end the process.
    await withProgress(terminal, async (signal, progress) => {
      const opened = await openDeployment(options, terminal, signal);
      const sqs = sqsClient(opened.deployment.client);
      const receiver = await openReceiver(options, opened, sqs);
      const world = await createWorld(opened, { sqs, receiver, load: options.load }, terminal.sleep);
      announce(world, checks, options, terminal);
      try {
        const results = await runChecks(world, checks, createReport(checks, progress, options, terminal));
        summarise(results, options, terminal);
      } finally {
        progress.clear();
        await cleanUp(world, options, terminal);
        await receiver.close();
        sqs.destroy();
      }
    });
  },
});

type Options = DeploymentOptions &
  Partial<Record<'within' | 'load' | 'port', number>> &
  Partial<Record<'url' | 'junit', string>> & { only?: readonly string[] };

function parseCheck(text: string): string {
  if (allChecks.some(({ id }) => id === text)) return text;
  throw new InvalidArgumentError(`Expected one of ${allChecks.map(({ id }) => id).join(', ')}.`);
}

function summarise(results: readonly Result[], { json, junit }: Options, terminal: Terminal): void {
  if (junit !== undefined) writeFileSync(junit, junitReport(results));
  if (json !== true) terminal.print(summaryText(results));
  if (results.some(({ outcome }) => outcome.kind === 'failed')) terminal.exitStatus = 1;
}

function choose({ only, within = Infinity, load }: Options): readonly Check[] {
  return allChecks.filter(
    ({ id, seconds }) => only?.includes(id) ?? (seconds <= within && (id !== 'load' || load !== undefined)),
  );
}

/** In AWS the stack of the receiver, if it is deployed; otherwise this machine. */
async function openReceiver({ url, port }: Options, opened: OpenDeployment, sqs: SQS): Promise<Receiver> {
  if (!opened.isLocal && url === undefined) {
    const { ReceiverUrl: found, SeenQueueUrl: seen } = await readOutputsBeside(opened, 'Acceptance');
    if (found !== undefined && seen !== undefined) return followReceiverStack(sqs, found, seen);
    throw new Problem(
      'A deployment in AWS cannot reach 127.0.0.1. Deploy the stack of the receiver (docs/operations.md, "After you deploy"), or run a tunnel to --port, and give its URL with --url.',
    );
  }
  return startLocalReceiver(port, url);
}

function announce(
  { deployment, prefix, isLocal }: World,
  checks: readonly Check[],
  { json }: Options,
  { printError }: Terminal,
): void {
  if (json === true) return;
  printError(`→ ${printable(deployment.place ?? deployment.name)}`);
  const cost = isLocal ? '' : ' and costs a few cents';
  printError(
    `${counted(checks.length, 'check', 'checks')}. This takes about ${inWords(computeSeconds(checks))}${cost}. Queues of this run begin with ${prefix}.`,
  );
  if (!isLocal && checks.some(({ id }) => id.startsWith('alarm'))) printError(ALARMS);
}

/** Who is on call gets these notifications. */
const ALARMS =
  'The topic of the alarms gets notifications: messages of this run raise IngressDeadLetters and DeliveryDeadLetters, and SchedulerDeadLetters is raised as a test.';

function computeSeconds(checks: readonly Check[]): number {
  const together = checks.filter(({ alone }) => alone === undefined);
  const alone = checks.filter((check) => check.alone !== undefined);
  const sum = alone.reduce((total, { seconds }) => total + seconds, 0);
  return Math.max(0, ...together.map(({ seconds }) => seconds)) + sum;
}

/** Prints each result, and below them what still runs. */
function createReport(
  checks: readonly Check[],
  progress: ReturnType<typeof progressLine>,
  options: Options,
  terminal: Terminal,
): (result: Result) => void {
  const open = new Set(checks.map(({ id }) => id));
  const show = (): void => {
    if (options.json !== true && open.size > 0)
      progress.show(`${checks.length - open.size} of ${checks.length} done; running: ${[...open].join(' ')}`);
  };
  show();
  return (result) => {
    open.delete(result.id);
    progress.clear();
    terminal.printResult(options, resultJson(result), () => resultText(result));
    show();
  };
}

/** Removes what the run made. What is left is said with the command that removes it, and fails the run. */
async function cleanUp({ undo }: World, { json }: Options, terminal: Terminal): Promise<void> {
  const { removed, left } = await undo.removeAll();
  if (left.length > 0) terminal.exitStatus = 1;
  for (const { what, command, reason } of left)
    terminal.printError(`${printable(what)} is left (${printable(reason)}). Remove it: ${command}`);
  if (json !== true && left.length === 0 && removed > 0)
    terminal.printError(`Everything that this run made is removed (${removed}).`);
}
