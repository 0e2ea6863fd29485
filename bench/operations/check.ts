import { operationsOf, type Operations } from '../../cli/commands/plan/operations.ts';
import {
  operationTable,
  REQUEST_UNIT,
  unitsOf,
  type OperationTable,
} from '../../cli/commands/plan/tables.ts';
import type { Work } from '../../cli/commands/plan/work.ts';
import type { CallLogEntry } from '../../local/call-log.ts';
import { Problem } from '../../local/install/problem.mjs';
import { functionSettings } from '../../shared/config/settings.ts';
import { meanOf, sumOf } from '../harness/figures.ts';
import { answersOf, groupsOf, KEPT, MESSAGES, PAYLOAD_BYTES, REQUESTS, subscribers } from './mix.ts';
import { bodiesOf, observed } from './run-path.ts';
import type { System } from './system.ts';
import { countOf, indexUnitsOf, invocationsOf, isChunk, isFedBy, sum, tallyOf } from './tally.ts';

/** How far the plan may be from what was counted. */
const TOLERANCE = 0.15;

type Line = { what: string; planned: number; counted: number; off: string };

/** What the plan cannot know of a run and has to assume: here it is told what was so. */
type Circumstances = Work['batches'] &
  Pick<Work, 'recordsPerChunk'> & {
    /** Deliveries with jobs of their own, because their subscriptions were failing. */
    single: number;
  };

export type PlanCheck = {
  messages: number;
  subscribers: number;
  circumstances: Circumstances;
  lines: readonly Line[];
  /** Where the plan is too far off. */
  faults: readonly string[];
};

/** Runs what the table does not hold, and compares what it came to with what the plan says of it. */
export async function checkPlan(system: System, say: (line: string) => void): Promise<PlanCheck> {
  const table = operationTable();
  const queue = 'operations-mixed';
  await system.makeQueue(queue, {});
  for (const [index, subscriber] of subscribers.entries()) {
    const path = `/${queue}/${index}`;
    system.receiver.script(path, answersOf(subscriber));
    await system.subscribe(queue, path, { _retry_policy: subscriber.policy });
  }
  const first = { messages: 10, payloadBytes: PAYLOAD_BYTES };
  // Nobody fails these: their names say so.
  await observed(system, 10 * subscribers.length, () => system.publish(bodiesOf(queue, 'first', first)));
  say(`Sending ${MESSAGES} messages to ${subscribers.length} subscribers`);
  const entries = await observed(system, REQUESTS, () =>
    system.publish(bodiesOf(queue, 'm', { messages: MESSAGES, payloadBytes: PAYLOAD_BYTES })),
  );
  return comparisonOf(entries, system, table);
}

function comparisonOf(entries: readonly CallLogEntry[], system: System, table: OperationTable): PlanCheck {
  const { operations: counted, circumstances } = countedOf(entries, system);
  const { single, recordsPerChunk, ...batches } = circumstances;
  const work: Work = {
    messages: MESSAGES,
    fanOut: subscribers.length,
    payloadBytes: PAYLOAD_BYTES,
    firstAttemptsPerJob: functionSettings.firstAttemptsPerJob.default,
    groups: groupsOf(single),
    kept: KEPT,
    batches,
    recordsPerChunk,
  };
  const planned = operationsOf(work, table);
  const compared = comparable.map(([what, of]) => ({ what, planned: of(planned), counted: of(counted) }));
  const off = (line: (typeof compared)[number]): number => line.planned / line.counted - 1;
  return {
    messages: MESSAGES,
    subscribers: subscribers.length,
    circumstances,
    lines: compared.map((line) => ({
      what: line.what,
      planned: Math.round(line.planned),
      counted: Math.round(line.counted),
      off: `${(100 * off(line)).toFixed(1)} %`,
    })),
    faults: compared
      .filter((line) => Math.abs(off(line)) > TOLERANCE)
      .map(({ what }) => `${what}: the plan is more than ${100 * TOLERANCE} % off.`),
  };
}

type Comparable = Pick<
  Operations,
  | 'writeUnits'
  | 'readUnits'
  | 'sqsRequests'
  | 'schedules'
  | 'logBytes'
  | 'attempts'
  | 'awsCalls'
  | 'invocations'
>;

const comparable: readonly (readonly [what: string, of: (operations: Comparable) => number])[] = [
  ['DynamoDB write units', ({ writeUnits }) => writeUnits],
  ['DynamoDB read units', ({ readUnits }) => readUnits],
  ['SQS requests', ({ sqsRequests }) => sqsRequests],
  ['Schedules', ({ schedules }) => schedules],
  ['Lambda invocations', ({ invocations }) => invocations.dispatch + invocations.deliver],
  ['Log bytes', ({ logBytes }) => logBytes],
  ['Calls of AWS', ({ awsCalls }) => awsCalls.dispatch + awsCalls.deliver],
  ['Requests to subscribers', ({ attempts }) => attempts],
];

/** From the log alone, by no part of the plan. */
function countedOf(
  entries: readonly CallLogEntry[],
  { endpoints }: System,
): { operations: Comparable; circumstances: Circumstances } {
  const { functions, retryQueueUrl } = endpoints;
  const names = [functions.dispatch, functions.deliver];
  const dispatch = tallyOf(entries, { functionName: functions.dispatch, retryQueueUrl });
  const deliver = tallyOf(entries, { functionName: functions.deliver, retryQueueUrl });
  const invocations = names.map((name) => invocationsOf(entries, name));
  const runs = invocations.flat();
  const batchOf = (queueUrl: string): number =>
    meanOf(runs.filter(isFedBy(queueUrl)), ({ records }) => records);
  if (runs.length === 0) throw new Problem('No function ran.');
  const calls = entries
    .filter((entry) => entry.kind === 'call')
    .filter(({ caller }) => names.some((name) => caller.endsWith(`/${name}`)));
  const schedules = entries.filter(({ kind }) => kind === 'fired').length;
  const polled = sumOf(runs, ({ recordBytes }) => unitsOf(recordBytes, REQUEST_UNIT) + 1);
  const chunks = new Set(calls.filter(isChunk).map(({ item }) => item)).size;
  return {
    circumstances: {
      ingress: batchOf(endpoints.ingressQueueUrl),
      delivery: batchOf(endpoints.deliveryQueueUrl),
      retry: batchOf(retryQueueUrl),
      recordsPerChunk: countOf(deliver, 'chunkWrites') / chunks - 1,
      single: countOf(deliver, 'firstRecords') - chunks,
    },
    operations: {
      writeUnits: sumOf(calls, (call) => (call.writeUnits ?? 0) + indexUnitsOf(call)),
      readUnits: sumOf(calls, ({ readUnits = 0 }) => readUnits),
      sqsRequests: MESSAGES + countOf(sum(dispatch, deliver), 'sendRequests') + schedules + polled,
      schedules,
      invocations: { dispatch: invocations[0]?.length ?? 0, deliver: invocations[1]?.length ?? 0 },
      logBytes: sumOf(runs, ({ logBytes }) => logBytes),
      awsCalls: { dispatch: countOf(dispatch, 'awsCalls'), deliver: countOf(deliver, 'awsCalls') },
      attempts: REQUESTS,
    },
  };
}
