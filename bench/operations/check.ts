import { operationsOf, type Operations } from '../../cli/commands/plan/operations.ts';
import { operationTable, REQUEST_UNIT, unitsOf } from '../../cli/commands/plan/tables.ts';
import { plannedRetries, type Group, type Work } from '../../cli/commands/plan/work.ts';
import type { CallLogEntry } from '../../local/call-log.ts';
import { functionSettings } from '../../shared/config/settings.ts';
import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  type PartialRetryPolicy,
} from '../../shared/domain/retry/policy.ts';
import { meanOf, sumOf } from '../harness/figures.ts';
import { byScheduler, bySqs, DEFAULT_SHAPE, noRetries, THRESHOLD_SECONDS } from './steps.ts';
import { bodiesOf, failingFirst, observed, type System } from './run.ts';
import {
  countOf,
  indexUnitsOf,
  invocationsOf,
  isChunk,
  isFedBy,
  isStatistics,
  sum,
  tallyOf,
} from './tally.ts';

/** How far the plan may be from the counts. */
const TOLERANCE = 0.15;

const MESSAGES = 120;
const PAYLOAD_BYTES = 700;

/** A subscriber that fails the first attempts of each `every`th delivery. */
type Subscriber = { every: number; policy: PartialRetryPolicy; failures: number };

/** None of these is a path of the table: failures among successes, twice by Scheduler. */
const failing: readonly Subscriber[] = [
  { every: 5, policy: bySqs(2), failures: 1 },
  { every: 10, policy: byScheduler(3), failures: 2 },
  { every: 20, policy: DEFAULT_SHAPE, failures: 7 },
];

const reliable: Subscriber = { every: Infinity, policy: noRetries, failures: 0 };

/** Nor is this fan-out: two chunks of varying sizes. */
const subscribers: readonly Subscriber[] = [...failing, ...Array.from({ length: 9 }, () => reliable)];

/** Requests to subscribers. */
const REQUESTS =
  MESSAGES * subscribers.length +
  sumOf(subscribers, ({ every, failures }) => Math.floor(MESSAGES / every) * failures);

/** Messages with a failed delivery. */
const KEPT = Array.from({ length: MESSAGES }, (_, number) => number).filter((number) =>
  failing.some(({ every }) => number % every === 0),
).length;

/** Facts of the run that the plan has to assume. */
type Circumstances = Work['batches'] &
  Pick<Work, 'recordsPerChunk' | 'statisticsPerInvocation'> & {
    /** Deliveries outside chunks, because their subscriptions were failing. */
    single: number;
  };

export type PlanCheck = {
  messages: number;
  subscribers: number;
  circumstances: Circumstances;
  lines: readonly { what: string; planned: number; counted: number; off: string }[];
  faults: readonly string[];
};

/** Compares the counts of a mixed run, which is not in the table, with those of the plan. */
export async function checkPlan(system: System, say: (line: string) => void): Promise<PlanCheck> {
  const queue = 'operations-mixed';
  await system.makeQueue(queue, {});
  for (const [index, { every, policy, failures }] of subscribers.entries()) {
    const path = `/${queue}/${index}`;
    const failuresOf = (id: string): number => {
      const [prefix, number] = id.split('-');
      return prefix === 'm' && Number(number) % every === 0 ? failures : 0;
    };
    system.receiver.script(path, failingFirst(failuresOf));
    await system.subscribe(queue, path, { _retry_policy: policy });
  }
  const publish = (prefix: string, messages: number) => () =>
    system.publish(bodiesOf(queue, prefix, { messages, payloadBytes: PAYLOAD_BYTES }));
  await observed(system, 10 * subscribers.length, publish('first', 10));
  say(`Sending ${MESSAGES} messages to ${subscribers.length} subscribers`);
  const entries = await observed(system, REQUESTS, publish('m', MESSAGES));

  const { counts, circumstances } = countsOf(entries, system);
  const planned = comparable(operationsOf(workOf(circumstances), operationTable()));
  const lines = Object.entries(counts).map(([what, counted]) => {
    const plan = planned[what] ?? 0;
    return { what, planned: plan, counted, off: plan / counted - 1 };
  });
  return {
    messages: MESSAGES,
    subscribers: subscribers.length,
    circumstances,
    lines: lines.map((line) => ({
      what: line.what,
      planned: Math.round(line.planned),
      counted: Math.round(line.counted),
      off: `${(100 * line.off).toFixed(1)} %`,
    })),
    faults: lines
      .filter(({ off }) => Math.abs(off) > TOLERANCE)
      .map(({ what }) => `${what}: the plan is more than ${100 * TOLERANCE} % off.`),
  };
}

function comparable(operations: Operations): Record<string, number> {
  const { invocations, awsCalls } = operations;
  return {
    'DynamoDB write units': operations.writeUnits,
    'DynamoDB read units': operations.readUnits,
    'SQS requests': operations.sqsRequests,
    Schedules: operations.schedules,
    'Lambda invocations': invocations.dispatch + invocations.deliver,
    'Log bytes': operations.logBytes,
    'Calls of AWS': awsCalls.dispatch + awsCalls.deliver,
    'Requests to subscribers': operations.attempts,
  };
}

/** From the call log alone, without any part of the plan. */
function countsOf(
  entries: readonly CallLogEntry[],
  { endpoints }: System,
): { counts: ReturnType<typeof comparable>; circumstances: Circumstances } {
  const { functions, retryQueueUrl } = endpoints;
  const names = [functions.dispatch, functions.deliver];
  const dispatch = tallyOf(entries, { functionName: functions.dispatch, retryQueueUrl });
  const deliver = tallyOf(entries, { functionName: functions.deliver, retryQueueUrl });
  const runs = names.flatMap((name) => invocationsOf(entries, name));
  const batchOf = (queueUrl: string): number =>
    meanOf(runs.filter(isFedBy(queueUrl)), ({ records }) => records);
  const calls = entries
    .filter((entry) => entry.kind === 'call')
    .filter(({ caller }) => names.some((name) => caller.endsWith(`/${name}`)));
  const schedules = entries.filter(({ kind }) => kind === 'fired').length;
  const polled = sumOf(runs, ({ recordBytes }) => unitsOf(recordBytes, REQUEST_UNIT) + 1);
  const statistics = calls.filter((call) => isStatistics(call) && !call.repeat).length;
  const chunks = new Set(calls.filter(isChunk).map(({ item }) => item)).size;
  return {
    circumstances: {
      ingress: batchOf(endpoints.ingressQueueUrl),
      delivery: batchOf(endpoints.deliveryQueueUrl),
      retry: batchOf(retryQueueUrl),
      statisticsPerInvocation: statistics / runs.length,
      recordsPerChunk: countOf(deliver, 'chunkWrites') / chunks - 1,
      single: countOf(deliver, 'firstRecords') - chunks,
    },
    counts: {
      'DynamoDB write units': sumOf(calls, (call) => (call.writeUnits ?? 0) + indexUnitsOf(call)),
      'DynamoDB read units': sumOf(calls, ({ readUnits = 0 }) => readUnits),
      'SQS requests': MESSAGES + countOf(sum(dispatch, deliver), 'sendRequests') + schedules + polled,
      Schedules: schedules,
      'Lambda invocations': runs.length,
      'Log bytes': sumOf(runs, ({ logBytes }) => logBytes),
      'Calls of AWS': countOf(sum(dispatch, deliver), 'awsCalls') + statistics,
      'Requests to subscribers': REQUESTS,
    },
  };
}

function workOf({ single, recordsPerChunk, statisticsPerInvocation, ...batches }: Circumstances): Work {
  return {
    messages: MESSAGES,
    fanOut: subscribers.length,
    payloadBytes: PAYLOAD_BYTES,
    firstAttemptsPerJob: functionSettings.firstAttemptsPerJob.default,
    groups: subscribers.flatMap((subscriber) => groupsOf(subscriber, single)),
    kept: KEPT,
    batches,
    recordsPerChunk,
    statisticsPerInvocation,
  };
}

/** `single`: deliveries outside chunks, all to failing subscribers. */
function groupsOf(subscriber: Subscriber, single: number): Group[] {
  const { every, policy, failures } = subscriber;
  const failed = Math.floor(MESSAGES / every);
  const complete = completeRetryPolicy(policy, DEFAULT_RETRY_POLICY);
  const retries = plannedRetries({ policy: complete.policy, thresholdSeconds: THRESHOLD_SECONDS });
  const singleJobShare = failing.includes(subscriber) ? single / (failing.length * MESSAGES) : 0;
  return [
    { deliveries: MESSAGES - failed, singleJobShare, failures: 0, exhausted: false, retries },
    { deliveries: failed, singleJobShare, failures, exhausted: false, retries },
  ];
}
