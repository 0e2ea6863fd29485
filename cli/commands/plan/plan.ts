import type { FieldError } from '../../../shared/domain/errors.ts';
import { reportInvalid } from '../../failure-report.ts';
import { standalone } from '../../options/deployed.ts';
import { readInput, givenPolicy } from '../../options/input.ts';
import { right, tableLines } from '../../output/list.ts';
import { grouped, inWords } from '../../output/text.ts';
import { buildPlan, DAYS_A_MONTH, PLAN_OPTIONS, type PlanOptions } from './load.ts';
import { type Bill, computePlan, type Line, type Outage, peakNames, type PlanResult } from './planned.ts';
import { labels, regionPrices } from './prices.ts';

const MAX_PRICES_BYTES = 1024 * 1024;

/** `posthaste plan`: estimated cost and required quotas of a load. */
export const plan = standalone<PlanOptions>({
  options: PLAN_OPTIONS,
  json: 'plan, operations (per day), bill, tables, fullBatches, peers, peaks, gathering, outage',
  more: `
Works without a deployment. The operations per delivery were counted with npm
run bench:operations, and prices are AWS list prices; docs/cost-and-performance.md describes
the method and the assumptions.

Exit status: 0, or 2 if a value is invalid.
`,
  examples: [
    'plan --messages-per-day 1000000 --fan-out 3 --failure-rate 0.01',
    'plan --messages-per-day 1000000 --pull-share 0.2 --api-requests-per-day 50000 --console-hours 8',
    'plan --messages-per-day 5000000 --policy \'{"maximum_delay": 3600}\' --outage-hours 6 --outage-share 0.5',
  ],
  run: async ({ options, terminal }) => {
    const { region, prices: file, json, policy: text, outageHours, outageShare, ...load } = options;
    const given = file === undefined ? undefined : await readInput(file, MAX_PRICES_BYTES, terminal);
    const prices = regionPrices(region, given);
    const { policy, refusal } = givenPolicy(text, 'policy.');
    // What commander cannot check: all faults together.
    const fields = [refusal?.fields ?? [], prices.ok ? [] : prices.fields, outageFaults(options)].flat();
    if (fields.length > 0 || !prices.ok) {
      reportInvalid('The plan', { code: 'invalid_request', fields }, json === true, terminal);
      return undefined;
    }
    const outage = buildOutage(load.fanOut, outageHours, outageShare);
    const result = computePlan(buildPlan(load, policy), prices.value.prices, outage);
    const sources = { region, pricesAsOf: prices.value.asOf };
    return [{ ...result, ...sources }, () => planText(result, sources)];
  },
});

function outageFaults({ outageHours, outageShare }: PlanOptions): FieldError[] {
  return outageShare !== undefined && outageHours === undefined
    ? [{ field: 'outage-share', message: 'requires --outage-hours' }]
    : [];
}

function buildOutage(fanOut: number, hours?: number, share = 1 / fanOut): Outage | undefined {
  return hours === undefined ? undefined : { hours, share };
}

const peerNames = { sns_http: 'Amazon SNS over HTTP', api_destinations: 'EventBridge API Destinations' };

type Sources = { region: string; pricesAsOf: string };

/** A plan as text. A section leaves out empty lines, and the text a section without lines. */
function planText(result: PlanResult, sources: Sources): string {
  const sections = [
    traffic(result),
    bill(result.bill),
    comparison(result),
    tableLines(
      ['DynamoDB tables, per month', right('USD')],
      result.tables.map(({ choice, usd }) => [choice, dollars(usd)]),
    ),
    needs(result),
    gathering(result),
    outage(result),
    assumptions(result, sources),
  ];
  return sections
    .map((lines) => lines.filter((line) => line !== '').join('\n'))
    .filter((section) => section !== '')
    .join('\n\n');
}

function traffic({ plan, operations }: PlanResult): string[] {
  const deliveries = plan.messagesPerDay * plan.fanOut;
  return [
    `${count(deliveries * DAYS_A_MONTH)} deliveries per month: ${counted(plan.messagesPerDay, 'message')} per day, each with ${counted(plan.payloadBytes, 'byte')} and for ${counted(plan.fanOut, 'subscription')}.`,
    plan.failureRate === 0 || plan.pullShare === 1
      ? 'Every first attempt succeeds.'
      : `The first attempt fails for ${percent(plan.failureRate)}, and the subscriber keeps failing for ${inWords(plan.failingSeconds)}: ${(operations.attempts / (deliveries * (1 - plan.pullShare))).toFixed(2)} attempts per delivery.`,
    plan.unmatchedPerDay === 0
      ? ''
      : `Besides, ${counted(plan.unmatchedPerDay, 'message')} per day to queues without a subscription, whose data is kept.`,
  ];
}

function bill({ traffic: lines, standing, dataOut, usd, monitoringUsd }: Bill): string[] {
  const used = ({ quantity }: Line): boolean => quantity > 0;
  return [
    ...tableLines(
      ['Per month', right('Quantity'), right('USD')],
      [
        ...lines.filter(used).map((line) => row(line, line.what === 'metrics' ? ' (at most)' : '')),
        ...standing.filter(used).map((line) => row(line, ' (fixed)')),
        row(dataOut),
        ['Total without traffic', '', dollars(standing.reduce((sum, line) => sum + line.usd, 0))],
        ['Total', '', dollars(usd)],
      ],
    ),
    'Quantity is the monthly usage that AWS bills, USD its list price. Lines marked (fixed) are charged without any traffic; the others only with traffic, metrics for each hour in which they are written.',
    `To reduce the cost: omit the stack PosthasteMonitoring and the alarms of upgrades, canaryMinutes (saves ${dollars(monitoringUsd)} USD), log fewer successes (logSuccessSampling), or publish in bursts, so that one invocation handles up to 10 messages.`,
  ];
}

function row({ what, quantity, usd }: Line, note = ''): string[] {
  return [`${labels.get(what) ?? what}${note}`, formatQuantity(quantity), dollars(usd)];
}

function comparison({ plan, bill: planned, fullBatches, peers }: PlanResult): string[] {
  const posthaste = (messages: string, { perMillionDeliveries: { all, traffic } }: Bill): string[] => [
    `Posthaste, ${messages} per batch`,
    dollars(all),
    dollars(traffic),
  ];
  return [
    ...tableLines(
      ['USD per million deliveries, without data out', right('Total'), right('Without (fixed)')],
      [
        posthaste(counted(plan.messagesPerBatch, 'message'), planned),
        posthaste('10 messages', fullBatches),
        ...peers.map(({ peer, perMillionDeliveries: usd }) => [peerNames[peer], dollars(usd), dollars(usd)]),
      ],
    ),
    ...peers.map(({ peer, note }) => `${peerNames[peer]}: ${note}.`),
  ];
}

function needs({ peaks, plan: { peakFactor } }: PlanResult): string[] {
  return [
    ...tableLines(
      [`In the busiest second (${peakFactor} × the average)`, right('Needed'), right('Default quota'), ''],
      peaks.map(({ what, needed, quota }) => [
        peakNames[what],
        formatQuantity(needed),
        count(quota),
        needed > quota ? 'exceeded' : '',
      ]),
    ),
    ...peaks
      .filter(({ needed, quota }) => needed > quota)
      .map(({ what, raise }) =>
        raise === undefined
          ? `${peakNames[what]}: AWS does not raise this quota; spread the traffic over more queues.`
          : `${peakNames[what]}: raise ${raise}.`,
      ),
  ];
}

function gathering({ plan: { messagesPerDay, batchWindowSeconds }, gathering: waits }: PlanResult): string[] {
  if (waits === undefined) return [];
  const { seconds, isQuiet } = waits;
  return [
    `With a batch window of ${batchWindowSeconds} s, a first attempt waits up to ${2 * seconds} s for full batches: ${seconds} s as a message, and again as a job. Retries do not wait.`,
    isQuiet
      ? `Warning: at ${counted(messagesPerDay, 'message')} per day, Lambda may wait 20 s for each batch, even with a shorter window. With batchWindowSeconds 0 it does not wait.`
      : '',
  ];
}

function outage({ outage: effect }: PlanResult): string[] {
  if (effect === undefined) return [];
  return [
    `A subscriber with ${percent(effect.share)} of the deliveries fails for ${inWords(effect.hours * 3600)}:`,
    `  ${count(effect.deliveries)} deliveries are affected; ${count(effect.exhausted)} of them exhaust their retries, ${count(effect.deliveries - effect.exhausted)} succeed.`,
    `  Retries: ${count(effect.retries.same_invocation)} immediate, ${count(effect.retries.sqs_delay)} by SQS delay, ${count(effect.retries.scheduler)} by Scheduler.`,
    `  At the end of the outage: ${formatQuantity(effect.wakeUpsPerSecondAtEnd)} retries per second, ${formatQuantity(effect.schedulesPerSecondAtEnd)} of them by Scheduler; ${count(effect.schedulesAtPeak)} schedules and ${count(effect.delayedMessagesAtPeak)} delayed messages are waiting.`,
    `  The last retry is made ${inWords(effect.drainSeconds)} after the outage. Additional cost: ${dollars(effect.extraUsd)} USD.`,
  ];
}

function assumptions({ plan }: PlanResult, { region, pricesAsOf }: Sources): string[] {
  return [
    plan.fanOut === 1 || plan.firstAttemptsPerJob === 1
      ? ''
      : `First attempts share jobs of about ${plan.firstAttemptsPerJob} subscriptions; their successes are recorded with one write per job.`,
    `Assumptions: ${counted(plan.messagesPerBatch, 'message')} per invocation, subscribers that respond in ${plan.attemptMs} ms (failing ones in ${plan.failedAttemptMs} ms), records kept for ${plan.retentionDays} days.`,
    'Counted only if given: --unmatched-per-day, --pull-share, --api-requests-per-day, --portal-requests-per-day, --console-hours, --cold-start-share, --workers.',
    `Not included: recoveries, networks of workers, the first two yearly rotations of the KMS key (each adds 1 USD per month), data transfer within the region.`,
    `List prices of ${region} as of ${pricesAsOf}, without free tier. docs/cost-and-performance.md describes the method.`,
  ];
}

function count(value: number): string {
  return grouped(Math.round(value));
}

function counted(value: number, what: string): string {
  return `${grouped(value)} ${what}${value === 1 ? '' : 's'}`;
}

function formatQuantity(value: number): string {
  return value >= 100 ? count(value) : value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

function dollars(value: number): string {
  return value.toFixed(2);
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
