import type { Jitter } from '../../../shared/domain/retry/vocabulary.ts';
import type { PolicyInForce } from '../../../shared/domain/retry/policy.ts';
import {
  meanSeconds,
  type Retry,
  retrySchedule,
  totalSeconds,
} from '../../../shared/domain/retry/schedule.ts';
import { planWakeUp } from '../../../shared/domain/delivery/wake-up-plan.ts';
import { STARTED_BY } from '../../../shared/wire/views/delivery.ts';
import { counted } from '../../../api-client/words.ts';
import { inWords } from '../../output/time-text.ts';
import { tableLines, type Column } from '../../output/table.ts';

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
export function describeSchedule({ source, policy }: PolicyInForce, overridden: boolean): string {
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
    ...(retries.length === 0 ? [] : [...tableOf(retries), '']),
    end,
    ...notes,
  ].join('\n');
}

const COLUMNS: readonly Column[] = [
  { head: 'Retry', align: 'right' },
  { head: 'Phase' },
  { head: 'Delay', align: 'right' },
  { head: 'Elapsed', align: 'right' },
  { head: 'Mechanism' },
];

function tableOf(retries: readonly Retry[]): string[] {
  const decimals = retries.every(({ delaySeconds }) => Number.isInteger(delaySeconds)) ? 0 : 3;
  let elapsed = 0;
  const rows = retries.map(({ retry, phase, delaySeconds }) => {
    elapsed += delaySeconds;
    return [
      String(retry),
      phase,
      `${delaySeconds.toFixed(decimals)} s`,
      inWords(elapsed),
      mechanismOf(delaySeconds),
    ];
  });
  return tableLines(COLUMNS, rows);
}

function mechanismOf(delaySeconds: number): string {
  return STARTED_BY[
    delaySeconds === 0
      ? 'same_invocation'
      : planWakeUp(delaySeconds * 1000, 0, SCHEDULER_THRESHOLD_SECONDS).by
  ];
}
