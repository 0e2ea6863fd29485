import { Command } from 'commander';
import {
  addPlanOptions,
  buildPlan,
  type PlanOptions,
  SECONDS_A_DAY,
  type Work,
} from '../../cli/commands/plan/load.ts';
import { countOperations } from '../../cli/commands/plan/operations.ts';
import { countUnits, REQUEST_UNIT } from '../../cli/commands/plan/prices.ts';
import { invocation } from '../../cli/commands/plan/quantities.ts';
import { RECEIVE_MAX } from '../../shared/domain/delivery/pull.ts';
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
  // Repeats by the SDK, made because this machine was slow, do not count.
  const calls = made.filter(({ repeat }) => !repeat);
  const runs = entries
    .filter((entry) => entry.kind === 'invocation')
    .filter((entry) => names.includes(entry.function));
  const schedules = entries.filter(({ kind }) => kind === 'fired').length;
  const { invocations, ...planned } = countOperations(workOf(load, calls, runs, endpoints));
  const units = calls.map(unitsOfCall);
  const total = (what: keyof CallUnits): number => sumOf(units, (one) => one[what] ?? 0);
  const published = load.messages * countUnits(load.payloadBytes, REQUEST_UNIT);
  const polled = sumOf(runs, ({ queue, recordBytes }) =>
    queue === undefined ? 0 : countUnits(recordBytes, REQUEST_UNIT) + 1,
  );
  const asked = runs.filter((run) => [api, secrets].includes(run.function)).length;
  const logged =
    sumOf(runs, ({ logBytes }) => logBytes - LINES_OF_LAMBDA) -
    LINE_OF_REPEAT * (made.length - calls.length) +
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
    compared('SQS requests', planned.sqsRequests, published + total('sends') + schedules + polled),
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

/** In the units of AWS. @throws Problem where they are unknown */
export function unitsOfCall(call: Call): CallUnits {
  const { service, operation, status, readUnits, writeUnits, indexWriteUnits = {}, messageBytes = 0 } = call;
  if (readUnits !== undefined) return { readUnits };
  if (writeUnits !== undefined)
    return { writeUnits: writeUnits + sumOf(Object.values(indexWriteUnits), (units) => units) };
  const others: Readonly<Record<string, CallUnits>> = {
    sqs: { sends: countUnits(messageBytes, REQUEST_UNIT) },
    events: { events: countUnits(call.requestBytes, REQUEST_UNIT) },
    's3 PutObject': { puts: 1 },
    's3 GetObject': { gets: 1 },
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

/** The load, and the facts of the run that the plan has to assume. */
function workOf(
  load: Load,
  calls: readonly Call[],
  runs: readonly Invocation[],
  { functions, ingressQueueUrl, deliveryQueueUrl, retryQueueUrl }: Endpoints,
): Work {
  const { messages, payloadBytes, subscribers, apiRequests = 0 } = load;
  const batchesFrom = (queueUrl: string): number[] =>
    runs
      .filter(({ queue }) => queue?.endsWith(`:${queueUrl.slice(queueUrl.lastIndexOf('/') + 1)}`))
      .map(({ records }) => records);
  const mean = (batches: readonly number[]): number =>
    batches.length === 0 ? 1 : meanOf(batches, (records) => records);
  const written = calls.flatMap(({ item = '', writeUnits }) => (writeUnits === undefined ? [] : [item]));
  const chunkWrites = written.filter((item) => item.includes(' CHUNK#'));
  const chunks = new Set(chunkWrites).size;
  const statistics = written.filter((item) => item.includes('#statistics ')).length;
  // Receives and requests for deliveries count nothing.
  const counting = runs.filter((run) => run.function !== functions.secrets).length - apiRequests;
  const jobs = sumOf(batchesFrom(deliveryQueueUrl), (records) => records);
  const args = ['--messages-per-day', `${messages}`, '--fan-out', `${subscribers.length}`];
  const options = addPlanOptions(new Command()).parse(args, { from: 'user' }).opts<PlanOptions>();
  return {
    plan: {
      ...buildPlan(options),
      payloadBytes,
      recordsPerChunk: chunks === 0 ? 1 : chunkWrites.length / chunks - 1,
      statisticsPerInvocation: statistics / counting,
      apiRequestsPerDay: apiRequests,
      cacheSeconds: 0,
    },
    seconds: SECONDS_A_DAY,
    messages,
    pulled: load.isPulled === true ? messages * subscribers.length : 0,
    groups: groupsOf(load, chunks === 0 ? 0 : jobs - chunks),
    kept: keptOf(load),
    batches: {
      ingress: mean(batchesFrom(ingressQueueUrl)),
      delivery: mean(batchesFrom(deliveryQueueUrl)),
      retry: mean(batchesFrom(retryQueueUrl)),
      pull: RECEIVE_MAX.default,
    },
  };
}
