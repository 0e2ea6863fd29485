import { Command } from 'commander';
import { countOperations } from '../../cli/commands/plan/operations.ts';
import { addPlanOptions, buildPlan, type PlanOptions } from '../../cli/commands/plan/load.ts';
import { countUnits, REQUEST_UNIT } from '../../cli/commands/plan/prices.ts';
import { invocation } from '../../cli/commands/plan/quantities.ts';
import { RECEIVE_MAX } from '../../shared/domain/delivery/pull.ts';
import { SECONDS_A_DAY, type Work } from '../../cli/commands/plan/load.ts';
import type { Call, CallLogEntry, Invocation } from '../../test/support/call-log.ts';
import type { Endpoints } from '../../local/endpoints.ts';
import { Problem } from '../../local/install/problem.mjs';
import { meanOf, sumOf } from '../harness/figures.ts';
import { groupsOf, keptOf, requestsOf, type Load } from './loads.ts';

/** Bytes of START, END and REPORT, which the local AWS writes for each invocation, and AWS for those that fail. */
const LINES_OF_LAMBDA = 336;

/** Bytes of the line of a call that failed, which the SDK repeats. */
const LINE_OF_REPEAT = 279;

/** How far the plan may be from the counts, and from how many on: a single refused write is no fault. */
const TOLERANCE = 0.1;
const LEAST = 10;

export type Compared = ReturnType<typeof compare>[number];

type Log = { calls: readonly Call[]; repeats: number; runs: readonly Invocation[]; schedules: number };

/**
 * The counts of a load from the call log, without any part of the plan, beside those of the plan. Not processor time: these
 * instances are too young (`npm run bench:deliver`).
 */
export function compare(load: Load, entries: readonly CallLogEntry[], endpoints: Endpoints) {
  const { dispatch, deliver, api, secrets = api } = endpoints.functions;
  const names = [dispatch, deliver, api, secrets];
  const made = entries
    .filter((entry) => entry.kind === 'call')
    .filter(({ caller }) => names.some((name) => caller.endsWith(`/${name}`)));
  const log: Log = {
    // Repeats by the SDK, made because this machine was slow, do not count.
    calls: made.filter(({ repeat }) => !repeat),
    repeats: made.filter(({ repeat }) => repeat).length,
    runs: entries
      .filter((entry) => entry.kind === 'invocation')
      .filter((entry) => names.includes(entry.function)),
    schedules: entries.filter(({ kind }) => kind === 'fired').length,
  };
  const { invocations, ...planned } = countOperations(workOf(load, log, endpoints));
  const { calls, runs, schedules } = log;
  const units = calls.map(unitsOfCall);
  const total = (what: keyof CallUnits): number => sumOf(units, (one) => one[what] ?? 0);
  const polled = sumOf(runs, ({ queue, recordBytes }) =>
    queue === undefined ? 0 : countUnits(recordBytes, REQUEST_UNIT) + 1,
  );
  const asked = runs.filter((run) => [api, secrets].includes(run.function)).length;
  const logged =
    sumOf(runs, ({ logBytes }) => logBytes - LINES_OF_LAMBDA) -
    LINE_OF_REPEAT * log.repeats +
    asked * invocation.api.log;
  const called = calls.filter(({ service }) => service !== 'kms').length;
  const compared = (what: string, plan: number, counted: number) => {
    const off = plan === counted ? 0 : plan / counted - 1;
    return {
      load: load.name,
      what,
      planned: Math.round(plan),
      counted: Math.round(counted),
      off: `${(100 * off).toFixed(1)} %`,
      isFault: Math.max(plan, counted) >= LEAST && Math.abs(off) > TOLERANCE,
    };
  };
  return [
    compared('DynamoDB write units', planned.writeUnits, total('writeUnits')),
    compared('DynamoDB read units', planned.readUnits, total('readUnits')),
    compared(
      'SQS requests',
      planned.sqsRequests,
      load.messages * countUnits(load.payloadBytes, REQUEST_UNIT) + total('sends') + schedules + polled,
    ),
    compared('Schedules', planned.schedules, schedules),
    compared('Events', planned.events, total('events')),
    compared('S3 puts', planned.s3Puts, total('puts')),
    compared('S3 gets', planned.s3Gets, total('gets')),
    compared('Lambda invocations', invocations.dispatch + invocations.deliver + invocations.api, runs.length),
    compared('Log bytes', planned.logBytes, logged),
    compared('Calls of AWS', planned.awsCalls, called),
    compared('Requests to subscribers', planned.attempts, requestsOf(load)),
  ];
}

type CallUnits = Partial<Record<'writeUnits' | 'readUnits' | 'sends' | 'events' | 'puts' | 'gets', number>>;

/** Amazon S3 pricing: deletions are free. */
const bucketUnits: Readonly<Record<string, CallUnits>> = {
  PutObject: { puts: 1 },
  GetObject: { gets: 1 },
  DeleteObject: {},
};

const callUnits: Readonly<Record<string, (call: Call) => CallUnits | undefined>> = {
  dynamodb: ({ readUnits, writeUnits, indexWriteUnits = {} }) => {
    if (readUnits !== undefined) return { readUnits };
    if (writeUnits === undefined) return undefined;
    return { writeUnits: writeUnits + sumOf(Object.values(indexWriteUnits), (units) => units) };
  },
  sqs: ({ messageBytes = 0 }) => ({ sends: countUnits(messageBytes, REQUEST_UNIT) }),
  events: ({ requestBytes }) => ({ events: countUnits(requestBytes, REQUEST_UNIT) }),
  s3: ({ operation }) => bucketUnits[operation],
  kms: () => ({}),
  // Billed when it fires, which is an entry of the log.
  scheduler: () => ({}),
};

/** In the units of AWS. @throws Problem where they are unknown */
export function unitsOfCall(call: Call): CallUnits {
  const { service, operation, status } = call;
  const units = callUnits[service]?.(call);
  if (units === undefined) throw new Problem(`The units of ${service} ${operation} (${status}) are unknown.`);
  return units;
}

/** The load, and the facts of the run that the plan has to assume. */
function workOf(load: Load, { calls, runs }: Log, endpoints: Endpoints): Work {
  const { messages, payloadBytes, subscribers, apiRequests = 0 } = load;
  const fedBy = (queueUrl: string): Invocation[] =>
    runs.filter(({ queue }) => queue?.endsWith(`:${queueUrl.slice(queueUrl.lastIndexOf('/') + 1)}`));
  const batch = (queueUrl: string): number => {
    const fed = fedBy(queueUrl);
    return fed.length === 0 ? 1 : meanOf(fed, ({ records }) => records);
  };
  const written = (part: string): string[] =>
    calls
      .filter(({ item, writeUnits }) => item?.includes(part) === true && writeUnits !== undefined)
      .map(({ item = '' }) => item);
  // Receives and requests for deliveries count nothing.
  const counting = runs.filter((run) => run.function !== endpoints.functions.secrets).length - apiRequests;
  const chunkWrites = written(' CHUNK#');
  const chunks = new Set(chunkWrites).size;
  const jobs = sumOf(fedBy(endpoints.deliveryQueueUrl), ({ records }) => records);
  const args = ['--messages-per-day', `${messages}`, '--fan-out', `${subscribers.length}`];
  const options = addPlanOptions(new Command()).parse(args, { from: 'user' }).opts<PlanOptions>();
  return {
    plan: {
      ...buildPlan(options),
      payloadBytes,
      recordsPerChunk: chunks === 0 ? 1 : chunkWrites.length / chunks - 1,
      statisticsPerInvocation: written('#statistics ').length / counting,
      apiRequestsPerDay: apiRequests,
      cacheSeconds: 0,
    },
    seconds: SECONDS_A_DAY,
    messages,
    pulled: load.isPulled === true ? messages * subscribers.length : 0,
    groups: groupsOf(load, chunks === 0 ? 0 : jobs - chunks),
    kept: keptOf(load),
    batches: {
      ingress: batch(endpoints.ingressQueueUrl),
      delivery: batch(endpoints.deliveryQueueUrl),
      retry: batch(endpoints.retryQueueUrl),
      pull: RECEIVE_MAX.default,
    },
  };
}
