import type { Command } from 'commander';
import {
  DEFAULT_RETRY_POLICY,
  policyInForce,
  type PolicyInForce,
  RETRY_POLICY_PRESETS,
} from '../../../shared/domain/retry/policy.ts';
import { meanSeconds, retrySchedule, totalSeconds } from '../../../shared/domain/retry/schedule.ts';
import { POLICY_PRESETS, type PresetName } from '../../../shared/domain/retry/vocabulary.ts';
import { reportInvalid } from '../../failure-report.ts';
import { examplesText } from '../../options/deployment-options.ts';
import { givenPolicy, type GivenPolicy, type PolicyRefusal } from '../../options/retry-policy.ts';
import { type Column, tableLines } from '../../output/table.ts';
import { inWords } from '../../output/time-text.ts';
import type { Terminal } from '../../terminal.ts';
import { describeSchedule } from './schedule-table.ts';

type PreviewOptions = { policy?: string; queuePolicy?: string; json?: true };

const COLUMNS: readonly Column[] = [
  { head: 'Preset' },
  { head: 'Attempts', align: 'right' },
  { head: 'At most', align: 'right' },
  { head: 'On average', align: 'right' },
];

const EXAMPLES = [
  'policy preview --policy patient',
  `policy preview --policy '{"maximum_delay": 60, "backoff_retries": 12}'`,
];

const HELP = `
Both options take JSON or the name of a preset. Missing fields come from the
defaults; {} is a valid policy.

${tableLines(COLUMNS, POLICY_PRESETS.map(presetRow)).join('\n')}

Without the time of the attempts. Jitter shortens the average.
${examplesText(EXAMPLES)}

Exit status: 0, or 2 if a policy is invalid.`;

function presetRow(name: PresetName): string[] {
  const policy = RETRY_POLICY_PRESETS[name];
  const attempts = retrySchedule(policy).length + 1;
  return [name, String(attempts), inWords(totalSeconds(policy)), inWords(meanSeconds(policy))];
}

export function addPolicyCommands(policy: Command, terminal: Terminal): void {
  addPolicyPreview(policy, terminal);
}

/** `posthaste policy preview`: the retry schedule that results from the policies of a subscription and its queue. */
function addPolicyPreview(policy: Command, terminal: Terminal): void {
  policy
    .command('preview')
    .description('Show the retry schedule of a policy.')
    .option('--policy <POLICY>', '_retry_policy of the subscription')
    .option('--queue-policy <POLICY>', '_retry_policy of the queue')
    .option('--json', 'print JSON: source, policy, retries, totalSeconds')
    .addHelpText('after', HELP)
    .action((options: PreviewOptions) => {
      preview(options, terminal);
    });
}

function preview(options: PreviewOptions, terminal: Terminal): void {
  const subscription = givenPolicy(options.policy, '');
  const queue = givenPolicy(options.queuePolicy, 'queue.');
  const refusal = refusalOf([subscription, queue]);
  if (refusal !== undefined) {
    reportInvalid('The retry policy', refusal, options.json === true, terminal);
    return;
  }
  const inForce = policyInForce({
    subscription: subscription.policy,
    queue: queue.policy,
    defaults: DEFAULT_RETRY_POLICY,
  });
  const overridden = subscription.policy !== undefined && inForce.source !== 'subscription';
  terminal.print(options.json === true ? asJson(inForce) : describeSchedule(inForce, overridden));
}

/** The faults of both policies under one code; invalid JSON takes precedence. */
function refusalOf(policies: GivenPolicy[]): PolicyRefusal | undefined {
  const refusals = policies.flatMap(({ refusal }) => refusal ?? []);
  if (refusals.length === 0) return undefined;
  const code = refusals.some((refusal) => refusal.code === 'invalid_json')
    ? 'invalid_json'
    : 'invalid_retry_policy';
  return { code, fields: refusals.flatMap(({ fields }) => fields) };
}

function asJson({ source, policy }: PolicyInForce): string {
  return JSON.stringify({
    source,
    policy,
    retries: retrySchedule(policy),
    totalSeconds: totalSeconds(policy),
  });
}
