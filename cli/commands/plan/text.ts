import { inWords } from '../../output/time-text.ts';
import { tableLines, type Column } from '../../output/table.ts';
import type { Bill, Line, PeerCost } from './bill.ts';
import { peakNames, type Peak } from './peaks.ts';
import type { Planned } from './planned.ts';
import { lineNames, type Priced } from './tables.ts';
import { DAYS_A_MONTH } from './work.ts';

const nameOfLine = new Map<Priced, string>(lineNames);

const peerNames: Readonly<Record<PeerCost['peer'], string>> = {
  sns_http: 'Amazon SNS over HTTP',
  api_destinations: 'EventBridge API Destinations',
};

export type Sources = { region: string; pricesAsOf: string; measuredAt: string };

function right(head: string): Column {
  return { head, align: 'right' };
}

/** A plan for people. */
export function planText(result: Planned, sources: Sources): string {
  return [
    ...traffic(result),
    '',
    ...bill(result.bill),
    '',
    ...comparison(result),
    '',
    ...needs(result.peaks, result.plan.peakFactor),
    ...(result.gathering === undefined ? [] : ['', ...gathering(result.plan, result.gathering)]),
    ...(result.outage === undefined ? [] : ['', ...outage(result.outage)]),
    '',
    ...assumptions(result, sources),
  ].join('\n');
}

function traffic({ plan, operations }: Planned): string[] {
  return [
    `${count(plan.messagesPerDay * plan.fanOut * DAYS_A_MONTH)} deliveries a month: ${counted(plan.messagesPerDay, 'message')} a day, each of ${counted(plan.payloadBytes, 'byte')} and to ${counted(plan.fanOut, 'subscription')}.`,
    plan.failureRate === 0
      ? 'All succeed at the first attempt.'
      : `The first attempt fails for ${percent(plan.failureRate)}, whose subscribers go on failing for ${inWords(plan.failingSeconds)}: ${(operations.attempts / (plan.messagesPerDay * plan.fanOut)).toFixed(2)} attempts a delivery.`,
  ];
}

function bill({ traffic: lines, standing, dataOut, usd }: Bill): string[] {
  return [
    ...tableLines(
      [{ head: 'A month' }, right('Quantity'), right('USD')],
      [
        ...lines.filter(({ quantity }) => quantity > 0).map((line) => row(line)),
        ...standing.map((line) => row(line, line.what === 'metrics' ? ' (always, at most)' : ' (always)')),
        row(dataOut),
        ['Together', '', dollars(usd)],
      ],
    ),
    'Quantity is what AWS counts in a month, USD its list price. What is marked (always) is there without any traffic; metrics are charged only for the hours in which they are written.',
    `To pay less: leave out the stack PosthasteMonitoring (${dollars(monitoring(standing))} USD), log fewer successes (logSuccessSampling), send messages in bursts, of which an invocation takes up to 10.`,
  ];
}

/** What the stack PosthasteMonitoring costs; the functions write their metrics without it, too. */
const MONITORING: readonly Priced[] = ['alarmMetrics', 'compositeAlarms', 'dashboards'];

function monitoring(standing: readonly Line[]): number {
  return standing.filter(({ what }) => MONITORING.includes(what)).reduce((all, { usd }) => all + usd, 0);
}

function row({ what, quantity, usd }: Line, note = ''): string[] {
  return [`${nameOfLine.get(what) ?? what}${note}`, quantityOf(quantity), dollars(usd)];
}

function comparison({ plan, bill: planned, fullBatches, peers }: Planned): string[] {
  return [
    ...tableLines(
      [{ head: 'USD for a million deliveries, without data out' }, right('All'), right('Without (always)')],
      [
        [
          `Posthaste, ${plan.messagesPerBatch} in a batch`,
          dollars(planned.perMillionDeliveries.all),
          dollars(planned.perMillionDeliveries.traffic),
        ],
        [
          'Posthaste, 10 in a batch',
          dollars(fullBatches.perMillionDeliveries.all),
          dollars(fullBatches.perMillionDeliveries.traffic),
        ],
        ...peers.map(({ peer, perMillionDeliveries }) => [
          peerNames[peer],
          dollars(perMillionDeliveries),
          dollars(perMillionDeliveries),
        ]),
      ],
    ),
    ...peers.map(({ peer, note }) => `${peerNames[peer]}: ${note}.`),
  ];
}

function needs(peaks: readonly Peak[], peakFactor: number): string[] {
  return [
    ...tableLines(
      [
        { head: `In the busiest second (${peakFactor} × the average)` },
        right('Needed'),
        right('Default'),
        { head: '' },
      ],
      peaks.map(({ what, needed, quota }) => [
        peakNames[what],
        quantityOf(needed),
        count(quota),
        needed > quota ? 'too much' : '',
      ]),
    ),
    ...peaks.filter(({ needed, quota }) => needed > quota).map(toRaise),
  ];
}

function toRaise({ what, raise }: Peak): string {
  return raise === undefined
    ? `${peakNames[what]}: AWS does not raise it; spread the traffic over more queues.`
    : `${peakNames[what]}: raise ${raise}.`;
}

function gathering(
  { messagesPerDay, batchWindowSeconds }: Planned['plan'],
  { messageSeconds, jobSeconds, isQuiet }: NonNullable<Planned['gathering']>,
): string[] {
  return [
    `With a batch window of ${batchWindowSeconds} s a first attempt waits up to ${messageSeconds + jobSeconds} s for others: ${messageSeconds} s as a message, ${jobSeconds} s as a job. Retries do not wait.`,
    ...(isQuiet
      ? [
          `Warning: ${counted(messagesPerDay, 'message')} a day leave the queues quiet. There Lambda may wait 20 s each time, however short the window; without one (batchWindowSeconds 0) it does not wait.`,
        ]
      : []),
  ];
}

function outage(effect: NonNullable<Planned['outage']>): string[] {
  return [
    `A subscriber with ${percent(effect.share)} of the deliveries fails for ${inWords(effect.hours * 3600)}:`,
    `  ${count(effect.deliveries)} deliveries meet it; ${count(effect.exhausted)} of them run out of retries, ${count(effect.deliveries - effect.exhausted)} get through.`,
    `  Retries: ${count(effect.retries.same_invocation)} at once, ${count(effect.retries.sqs_delay)} by SQS, ${count(effect.retries.scheduler)} by Scheduler.`,
    `  At its end ${quantityOf(effect.wakeUpsPerSecondAtEnd)} retries a second, ${quantityOf(effect.schedulesPerSecondAtEnd)} of them by schedules; ${count(effect.schedulesAtPeak)} schedules and ${count(effect.delayedMessagesAtPeak)} delayed messages wait.`,
    `  The last retry comes ${inWords(effect.drainSeconds)} after it. It costs ${dollars(effect.extraUsd)} USD more.`,
  ];
}

function assumptions({ plan }: Planned, { region, pricesAsOf, measuredAt }: Sources): string[] {
  return [
    ...(plan.fanOut === 1 || plan.firstAttemptsPerJob === 1
      ? []
      : [
          `First attempts of a message are made in jobs for about ${plan.firstAttemptsPerJob} subscriptions, whose successes are recorded by ${counted(plan.recordsPerChunk, 'write')} a job.`,
        ]),
    `Assumed: ${counted(plan.messagesPerBatch, 'message')} in an invocation, subscribers that answer in ${plan.attemptMs} ms (failing ones in ${plan.failedAttemptMs} ms), records kept for ${plan.retentionDays} days.`,
    `Not in it: the API, cold starts, the first two yearly rotations of the KMS key (1 USD a month more after each), data inside the region.`,
    `Operations as measured on ${measuredAt.slice(0, 10)}, list prices of ${region} as of ${pricesAsOf}, no free tier. docs/cost.md says what is in it.`,
  ];
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function counted(value: number, what: string): string {
  return `${value.toLocaleString('en-US')} ${what}${value === 1 ? '' : 's'}`;
}

function quantityOf(value: number): string {
  return value >= 100 ? count(value) : value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

function dollars(value: number): string {
  return value.toFixed(2);
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
