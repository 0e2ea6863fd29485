import { counted } from '../../../api-client/words.ts';
import { planWakeUp } from '../../../shared/domain/delivery/wake-up-plan.ts';
import {
  DEFAULT_RETRY_POLICY,
  policyInForce,
  type PolicyInForce,
  RETRY_POLICY_PRESETS,
} from '../../../shared/domain/retry/policy.ts';
import {
  meanSeconds,
  type Retry,
  retrySchedule,
  totalSeconds,
} from '../../../shared/domain/retry/schedule.ts';
import { type Jitter, POLICY_PRESETS, type PresetName } from '../../../shared/domain/retry/vocabulary.ts';
import { STARTED_BY } from '../../../shared/wire/views/delivery.ts';
import { reportInvalid } from '../../failure-report.ts';
import { option } from '../../options/arguments.ts';
import { group, standalone } from '../../options/deployed.ts';
import { givenPolicy, type GivenPolicy, type PolicyRefusal } from '../../options/input.ts';
import { right, tableLines } from '../../output/list.ts';
import { inWords } from '../../output/text.ts';

type PreviewOptions = { policy?: string; queuePolicy?: string };

const COLUMNS = ['Preset', right('Attempts'), right('At most'), right('On average')];

/** `posthaste policy preview`: the retry schedule that results from the policies of a subscription and its queue. */
export const policyCommands = group({
  preview: standalone<PreviewOptions>({
    description: 'Show the retry schedule of a policy.',
    options: [
      option('--policy <POLICY>', '_retry_policy of the subscription'),
      option('--queue-policy <POLICY>', '_retry_policy of the queue'),
    ],
    json: 'source, policy, retries, totalSeconds',
    more: `
Both options take JSON or the name of a preset. Missing fields come from the
defaults; {} is a valid policy.

  ${tableLines(COLUMNS, POLICY_PRESETS.map(presetRow)).join('\n  ')}

Without the time of the attempts. Jitter shortens the average.

Exit status: 0, or 2 if a policy is invalid.
`,
    examples: [
      'policy preview --policy patient',
      `policy preview --policy '{"maximum_delay": 60, "backoff_retries": 12}'`,
    ],
    run: ({ options, terminal }) => {
      const subscription = givenPolicy(options.policy, '');
      const queue = givenPolicy(options.queuePolicy, 'queue.');
      const refusal = combineRefusals([subscription, queue]);
      if (refusal !== undefined) {
        reportInvalid('The retry policy', refusal, options.json === true, terminal);
        return undefined;
      }
      const inForce = policyInForce({
        subscription: subscription.policy,
        queue: queue.policy,
        defaults: DEFAULT_RETRY_POLICY,
      });
      const overridden = subscription.policy !== undefined && inForce.source !== 'subscription';
      const { source, policy } = inForce;
      const json = { source, policy, retries: retrySchedule(policy), totalSeconds: totalSeconds(policy) };
      return [json, () => describeSchedule(inForce, overridden)];
    },
  }),
});

function presetRow(name: PresetName): string[] {
  const policy = RETRY_POLICY_PRESETS[name];
  const attempts = retrySchedule(policy).length + 1;
  return [name, String(attempts), inWords(totalSeconds(policy)), inWords(meanSeconds(policy))];
}

/** The faults of both policies under one code; invalid JSON takes precedence. */
function combineRefusals(policies: GivenPolicy[]): PolicyRefusal | undefined {
  const refusals = policies.flatMap(({ refusal }) => refusal ?? []);
  if (refusals.length === 0) return undefined;
  const code = refusals.some((refusal) => refusal.code === 'invalid_json')
    ? 'invalid_json'
    : 'invalid_retry_policy';
  return { code, fields: refusals.flatMap(({ fields }) => fields) };
}

/** The default of the deployment setting `schedulerThreshold` (docs/retry-policy.md#from-delay-to-wake-up). */
const SCHEDULER_THRESHOLD_SECONDS = 90;

const MECHANISMS_NOTE = `Mechanisms are for the default schedulerThreshold of ${SCHEDULER_THRESHOLD_SECONDS} s; a deployment may have another.`;

const SOURCES: Record<PolicyInForce['source'], string> = {
  subscription: "the subscription's, from --policy",
  queue: "the queue's, from --queue-policy",
  defaults: 'the defaults; neither --policy nor --queue-policy was given',
};

const JITTERS: Record<Exclude<Jitter, 'none'>, string> = {
  full: 'a random time between 0 and the delay shown',
  equal: 'a random time between half the delay shown and all of it',
};

/** A schedule as text: a table of the retries, the total and notes. */
function describeSchedule({ source, policy }: PolicyInForce, overridden: boolean): string {
  const retries = retrySchedule(policy);
  const override = overridden ? ", which overrides the subscription's (ignore_subscription_override)" : '';
  const end =
    retries.length === 0
      ? 'No retries: a delivery whose first attempt fails is exhausted.'
      : `${counted(retries.length, 'retry', 'retries')} over ${inWords(totalSeconds(policy))}. If the last one fails, the delivery is exhausted.`;
  const notes = [
    ...(retries.length === 0 ? [] : [MECHANISMS_NOTE]),
    ...(policy.jitter === 'none'
      ? []
      : [
          `Jitter (${policy.jitter}): a retry waits ${JITTERS[policy.jitter]}; in total ${inWords(meanSeconds(policy))} on average.`,
        ]),
    ...(policy.retry_on_status.length === 0
      ? []
      : [`Also retried, besides 5xx, timeouts and connection errors: ${policy.retry_on_status.join(', ')}.`]),
  ];
  return [
    `Policy in force: ${SOURCES[source]}${override}.`,
    '',
    ...(retries.length === 0 ? [] : [...formatTable(retries), '']),
    end,
    ...notes,
  ].join('\n');
}

const SCHEDULE_COLUMNS = [right('Retry'), 'Phase', right('Delay'), right('Elapsed'), 'Mechanism'];

function formatTable(retries: readonly Retry[]): string[] {
  const decimals = retries.every(({ delaySeconds }) => Number.isInteger(delaySeconds)) ? 0 : 3;
  let elapsed = 0;
  const rows = retries.map(({ retry, phase, delaySeconds }) => {
    elapsed += delaySeconds;
    const { by } = planWakeUp(delaySeconds * 1000, 0, SCHEDULER_THRESHOLD_SECONDS);
    const mechanism = STARTED_BY[delaySeconds === 0 ? 'same_invocation' : by];
    return [String(retry), phase, `${delaySeconds.toFixed(decimals)} s`, inWords(elapsed), mechanism];
  });
  return tableLines(SCHEDULE_COLUMNS, rows);
}
