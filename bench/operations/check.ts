import { readFileSync } from 'node:fs';
import { operationsOf, type Operations } from '../../cli/commands/plan/model/operations.ts';
import { plannedRetries, type Course } from '../../cli/commands/plan/model/course.ts';
import { operationTableSchema, type OperationTable } from '../../cli/commands/plan/model/operation-table.ts';
import { sum } from '../../cli/commands/plan/model/units.ts';
import { CHUNK, unitsOf } from '../../cli/commands/plan/model/weight.ts';
import type { Batches, Group, Work } from '../../cli/commands/plan/model/work.ts';
import type { CallLogEntry } from '../../cli/local/call-log.ts';
import { Problem } from '../../cli/local/install/problem.mjs';
import { tableLines } from '../../cli/output/table.ts';
import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  type PartialRetryPolicy,
} from '../../shared/domain/retry-policy.ts';
import { observed } from './observe.ts';
import { byScheduler, bySqs, DEFAULT_SHAPE, THRESHOLD_SECONDS } from './paths.ts';
import { bodiesOf } from './run-path.ts';
import type { System } from './system.ts';
import { invocationsOf, tallyOf } from './tally.ts';

/** How far the plan may be from what was counted. */
const TOLERANCE = 0.15;

const MESSAGES = 200;
const PAYLOAD_BYTES = 700;

/** A subscriber, of whose deliveries each `every`th fails so often; the others succeed at once. */
type Subscriber = { every: number; failures: number; policy: PartialRetryPolicy; course: Course };

/** None of these is a path of the table: failures among successes, twice by Scheduler, in a fan-out of three. */
const subscribers: readonly Subscriber[] = [
  { every: 5, failures: 1, policy: bySqs(2), course: { failures: 1, exhausted: false } },
  { every: 10, failures: 2, policy: byScheduler(3), course: { failures: 2, exhausted: false } },
  { every: 20, failures: 7, policy: DEFAULT_SHAPE, course: { failures: 7, exhausted: false } },
];

type Line = { what: string; planned: number; counted: number; off: number };

export type PlanCheck = { ok: boolean; batches: Batches; lines: readonly Line[]; text: string };

/** Runs what the table does not hold, and compares what it came to with what the plan says of it. */
export const checkPlan = async (system: System, say: (line: string) => void): Promise<PlanCheck> => {
  const table = operationTableSchema.parse(
    JSON.parse(readFileSync(new URL('table.json', import.meta.url), 'utf8')),
  );
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
  const failed = subscribers.reduce((total, { every, failures }) => total + (MESSAGES / every) * failures, 0);
  const entries = await observed(system, MESSAGES * subscribers.length + failed, () =>
    system.publish(bodiesOf(queue, 'm', { messages: MESSAGES, payloadBytes: PAYLOAD_BYTES })),
  );
  return comparisonOf(entries, system, table);
};

const answersOf = ({ every, failures }: Subscriber) => {
  const failed = new Map<string, number>();
  return ({ headers }: { headers: Record<string, string | string[] | undefined> }) => {
    const id = String(headers['webhook-id']);
    const [prefix, number] = id.split('-');
    const count = failed.get(id) ?? 0;
    failed.set(id, count + 1);
    return prefix === 'm' && Number(number) % every === 0 && count < failures
      ? { status: 503, body: 'unavailable' }
      : {};
  };
};

const comparisonOf = (entries: readonly CallLogEntry[], system: System, table: OperationTable): PlanCheck => {
  const counted = countedOf(entries, system);
  const work: Work = {
    messages: MESSAGES,
    fanOut: subscribers.length,
    payloadBytes: PAYLOAD_BYTES,
    batches: counted.batches,
    groups: subscribers.flatMap(groupsOf),
  };
  const planned = operationsOf(work, table);
  const lines = comparable.map(([what, of]) => lineOf(what, of(planned), of(counted.operations)));
  const ok = lines.every(({ off }) => Math.abs(off) <= TOLERANCE);
  return {
    ok,
    batches: counted.batches,
    lines,
    text: textOf(lines, counted.batches, ok),
  };
};

const groupsOf = ({ every, policy, course }: Subscriber): Group[] => {
  const failing = MESSAGES / every;
  const { policy: whole } = completeRetryPolicy(policy, DEFAULT_RETRY_POLICY);
  const retries = plannedRetries(whole, THRESHOLD_SECONDS);
  return [
    { deliveries: MESSAGES - failing, course: { failures: 0, exhausted: false }, retries },
    { deliveries: failing, course, retries },
  ];
};

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

const lineOf = (what: string, planned: number, counted: number): Line => ({
  what,
  planned: Math.round(planned),
  counted: Math.round(counted),
  off: counted === 0 ? planned : planned / counted - 1,
});

/** From the log alone, by no part of the plan. */
const countedOf = (
  entries: readonly CallLogEntry[],
  { endpoints, receiver }: System,
): { operations: Comparable; batches: Batches } => {
  const { functions, retryQueueUrl } = endpoints;
  const retryQueue = retryQueueUrl.slice(retryQueueUrl.lastIndexOf('/') + 1);
  const names = [functions.dispatch, functions.deliver];
  const [dispatch, deliver] = [
    tallyOf(entries, { functionName: functions.dispatch, retryQueue }),
    tallyOf(entries, { functionName: functions.deliver, retryQueue }),
  ];
  const invocations = names.map((name) => invocationsOf(entries, name));
  const runs = invocations.flat();
  const batchOf = (queueUrl: string): number => {
    const name = queueUrl.slice(queueUrl.lastIndexOf('/') + 1);
    const fed = runs.filter(({ queue }) => queue?.endsWith(`:${name}`) === true);
    return fed.reduce((total, run) => total + run.records, 0) / fed.length;
  };
  if (runs.length === 0) throw new Problem('No function ran.');
  const calls = entries
    .filter((entry) => entry.kind === 'call')
    .filter(({ caller }) => names.some((name) => caller.endsWith(`/${name}`)));
  const total = (value: (call: (typeof calls)[number]) => number): number =>
    calls.reduce((all, call) => all + value(call), 0);
  const schedules = entries.filter(({ kind }) => kind === 'fired').length;
  const polled = runs.reduce((all, { recordBytes }) => all + unitsOf(recordBytes, CHUNK) + 1, 0);
  return {
    batches: {
      ingress: batchOf(endpoints.ingressQueueUrl),
      delivery: batchOf(endpoints.deliveryQueueUrl),
      retry: batchOf(retryQueueUrl),
    },
    operations: {
      writeUnits: total(({ writeUnits = 0, indexWriteUnits = {} }) =>
        Object.values(indexWriteUnits).reduce((all, units) => all + units, writeUnits),
      ),
      readUnits: total(({ readUnits = 0 }) => readUnits),
      sqsRequests: MESSAGES + sum(dispatch, deliver).sendRequests + schedules + polled,
      schedules,
      invocations: { dispatch: invocations[0]?.length ?? 0, deliver: invocations[1]?.length ?? 0 },
      logBytes: runs.reduce((all, { logBytes }) => all + logBytes, 0),
      awsCalls: { dispatch: dispatch.awsCalls, deliver: deliver.awsCalls },
      attempts: receiver.received().length - 10 * subscribers.length,
    },
  };
};

const textOf = (lines: readonly Line[], batches: Batches, ok: boolean): string =>
  [
    `${MESSAGES} messages to ${subscribers.length} subscribers, of whom some fail; ${Object.entries(batches)
      .map(([queue, batch]) => `${batch.toFixed(1)} in a batch of the ${queue} queue`)
      .join(', ')}.`,
    '',
    ...tableLines(
      [
        { head: 'What' },
        { head: 'Planned', align: 'right' },
        { head: 'Counted', align: 'right' },
        { head: 'Off', align: 'right' },
      ],
      lines.map(({ what, planned, counted, off }) => [
        what,
        String(planned),
        String(counted),
        `${(100 * off).toFixed(1)} %`,
      ]),
    ),
    '',
    ok ? `All within ${100 * TOLERANCE} %.` : `Not all within ${100 * TOLERANCE} %.`,
  ].join('\n');
