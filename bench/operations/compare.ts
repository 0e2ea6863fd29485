import { type Work, workOfDay } from '../../cli/commands/plan/load.ts';
import { countOperations } from '../../cli/commands/plan/operations.ts';
import { countUnits, REQUEST_UNIT } from '../../cli/commands/plan/prices.ts';
import { invocation } from '../../cli/commands/plan/quantities.ts';
import { RECEIVE_MAX } from '../../shared/domain/delivery/pull.ts';
import type { Call, CallLogEntry, Invocation } from '../../test/support/call-log.ts';
import type { Endpoints } from '../../local/endpoints.ts';
import { Problem } from '../../local/install/problem.mjs';
import { meanOf, sumOf } from '../harness/figures.ts';
import type { Load } from './loads.ts';

/** Bytes of START, END and REPORT, which the local AWS writes for each invocation, and AWS for those that fail. */
const LINES_OF_LAMBDA = 336;

/** Bytes of the line of a call that failed, which the SDK repeats. */
const LINE_OF_REPEAT = 279;

/** How far the plan may be from the counts, and from how many on: a single refused write is no fault. */
const TOLERANCE = 0.1;
const LEAST = 10;

/** Quantities of the plan that are compared. Processor time is not: these instances are too young (`npm run bench:deliver`). */
const COMPARED = [
  ...(['writeUnits', 'readUnits', 'sqsRequests', 'schedules', 'events', 's3Puts', 's3Gets'] as const),
  ...(['invocations', 'logBytes', 'awsCalls'] as const),
];

/** In the units of AWS. */
type Counted = Partial<Record<(typeof COMPARED)[number], number>>;

export type Compared = ReturnType<typeof compare>[number];

/** The counts of a load from the call log, without any part of the plan, beside those of the plan. */
export function compare(load: Load, entries: readonly CallLogEntry[], endpoints: Endpoints) {
  const { dispatch, deliver, api, secrets = api } = endpoints.functions;
  const names = [dispatch, deliver, api, secrets];
  const made = entries
    .filter((entry) => entry.kind === 'call')
    .filter(({ caller }) => names.some((name) => caller.endsWith(`/${name}`)));
  // Repeats by the SDK, made because this machine was slow, do not count.
  const calls = made.filter(({ repeat }) => !repeat);
  const runs = entries
    .filter((entry) => entry.kind === 'invocation')
    .filter((entry) => names.includes(entry.function));
  const { invocations, ...others } = countOperations(workOf(load, calls, runs, endpoints));
  const planned = { ...others, invocations: sumOf(Object.values(invocations), (count) => count) };
  const counted: Counted[] = [
    { sqsRequests: load.plan.messagesPerDay * countUnits(load.plan.payloadBytes, REQUEST_UNIT) },
    { awsCalls: calls.filter(({ service }) => service !== 'kms').length },
    ...calls.map(unitsOfCall),
    ...runs.map((run) => unitsOfRun(run, [api, secrets])),
    ...entries.filter(({ kind }) => kind === 'fired').map(() => ({ schedules: 1, sqsRequests: 1 })),
    { logBytes: -LINE_OF_REPEAT * (made.length - calls.length) },
  ];
  return COMPARED.map((what) => {
    const [plan, count] = [planned[what], sumOf(counted, (units) => units[what] ?? 0)];
    const off = plan === count ? 0 : plan / count - 1;
    return {
      ...{ load: load.name, what },
      planned: Math.round(plan),
      counted: Math.round(count),
      off: `${(100 * off).toFixed(1)} %`,
      isFault: Math.max(plan, count) >= LEAST && Math.abs(off) > TOLERANCE,
    };
  });
}

/** `ofApi`: the functions behind API Gateway, which writes a line for each of their invocations. */
function unitsOfRun(run: Invocation, ofApi: readonly string[]): Counted {
  const ofGateway = ofApi.includes(run.function) ? invocation.api.log : 0;
  return {
    invocations: 1,
    logBytes: run.logBytes - LINES_OF_LAMBDA + ofGateway,
    // A receive, and the deletion.
    sqsRequests: run.queue === undefined ? 0 : countUnits(run.recordBytes, REQUEST_UNIT) + 1,
  };
}

/** @throws Problem where the units are unknown */
export function unitsOfCall(call: Call): Counted {
  const { service, operation, status, readUnits, writeUnits, indexWriteUnits = {}, messageBytes = 0 } = call;
  if (readUnits !== undefined) return { readUnits };
  if (writeUnits !== undefined)
    return { writeUnits: writeUnits + sumOf(Object.values(indexWriteUnits), (units) => units) };
  const others: Readonly<Record<string, Counted>> = {
    sqs: { sqsRequests: countUnits(messageBytes, REQUEST_UNIT) },
    events: { events: countUnits(call.requestBytes, REQUEST_UNIT) },
    's3 PutObject': { s3Puts: 1 },
    's3 GetObject': { s3Gets: 1 },
    // Amazon S3 pricing: deletions are free.
    's3 DeleteObject': {},
    kms: {},
    // Billed when it fires, which is an entry of the log.
    scheduler: {},
  };
  const units = others[service] ?? others[`${service} ${operation}`];
  if (units === undefined) throw new Problem(`The units of ${service} ${operation} (${status}) are unknown.`);
  return units;
}

/** The work of a load, with the facts of the run that the plan has to assume. */
function workOf(
  { plan }: Load,
  calls: readonly Call[],
  runs: readonly Invocation[],
  { functions, ingressQueueUrl, deliveryQueueUrl, retryQueueUrl }: Endpoints,
): Work {
  const batchesFrom = (queueUrl: string): number[] =>
    runs
      .filter(({ queue }) => queue?.endsWith(`:${queueUrl.slice(queueUrl.lastIndexOf('/') + 1)}`))
      .map(({ records }) => records);
  // NaN of no batch.
  const meanFrom = (queueUrl: string): number => meanOf(batchesFrom(queueUrl), (records) => records) || 1;
  const written = calls.flatMap(({ item = '', writeUnits }) => (writeUnits === undefined ? [] : [item]));
  const chunks = new Set(written.filter((item) => item.includes(' CHUNK#'))).size;
  const statistics = written.filter((item) => item.includes('#statistics ')).length;
  // Receives and requests for deliveries count nothing.
  const counting = runs.filter((run) => run.function !== functions.secrets).length - plan.apiRequestsPerDay;
  const jobs = sumOf(batchesFrom(deliveryQueueUrl), (records) => records);
  // Single jobs beside chunks are all to the subscriber that fails.
  const singleJobShare = chunks === 0 ? 0 : (jobs - chunks) / plan.messagesPerDay;
  const failing = plan.messagesPerDay * plan.fanOut * plan.failureRate;
  const work = workOfDay({ ...plan, statisticsPerInvocation: statistics / counting });
  return {
    ...work,
    groups: work.groups.flatMap((group) => {
      const deliveries =
        group.failures > 0 ? failing : Math.min(group.deliveries, plan.messagesPerDay - failing);
      const others = group.deliveries - deliveries;
      return [
        { ...group, deliveries, singleJobShare },
        { ...group, deliveries: others },
      ];
    }),
    batches: {
      ingress: meanFrom(ingressQueueUrl),
      delivery: meanFrom(deliveryQueueUrl),
      retry: meanFrom(retryQueueUrl),
      pull: RECEIVE_MAX.default,
    },
  };
}
