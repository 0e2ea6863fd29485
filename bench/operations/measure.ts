import { z } from 'zod';
import type { OperationTable } from '../../cli/commands/plan/tables.ts';
import type { CallLogEntry, Invocation } from '../../local/call-log.ts';
import { Problem } from '../../local/install/problem.mjs';
import { deployedStacks } from '../../test/privileges/deployed-stacks.ts';
import { alarmsIn } from '../../test/support/monitored.ts';
import {
  atNoRecords,
  callsOf,
  cpuMsOf,
  invocationsOf,
  isFedBy,
  rounded,
  sentAlone,
  tallyOf,
  times,
  type Units,
} from './tally.ts';
import { meanOf, sumOf } from '../harness/figures.ts';
import { paths, requestsOf, stepsOf, type PathCount } from './steps.ts';
import { ofPath, runPath, settings, type PathRun, type System } from './run.ts';
import { chunkSizes, envelopes, itemSizes, messageItemBytes } from './sizes.ts';

type Say = (line: string) => void;

const RECONCILE_RUNS = 5;

/** The table of the planner. @throws Problem when something cannot be counted */
export async function measure(
  system: System,
  say: Say,
): Promise<Omit<OperationTable, 'measuredAt' | 'machine'>> {
  const runs: PathRun[] = [];
  for (const path of paths) {
    say(`Counting ${path.path}`);
    runs.push(await runPath(system, path));
  }
  say('Counting reconcile');
  const reconcile = await reconcileRuns(system);
  const perInvocation = {
    dispatch: invocationCost(runs, system.endpoints.functions.dispatch),
    deliver: invocationCost(runs, system.endpoints.functions.deliver),
    reconcile: reconcile.perInvocation,
  };
  const reads = sharedReads(runs, system);
  const counts = runs.map((run) => counted(run, system, perInvocation));
  return {
    settings,
    steps: stepsOf(counts, reads),
    perInvocation,
    sharedReads: reads,
    deliveryItemBytes: itemSizes(ofPath(runs, 'exhausted')),
    chunkItemBytes: chunkSizes(ofPath(runs, 'delivered_two'), ofPath(runs, 'delivered_ten')),
    messageItemBytes: messageItemBytes(ofPath(runs, 'delivered')),
    envelopeBytes: envelopes(runs, system),
    reconcile: reconcile.units,
    monitoring: await monitoring(system),
  };
}

type Cost = OperationTable['perInvocation']['deliver'];

/** By the line through warm invocations with first successes, which differ in their number of records. */
function invocationCost(runs: readonly PathRun[], functionName: string): Cost {
  const warm = invocationsOf(ofPath(runs, 'delivered').entries, functionName).filter(({ cold }) => !cold);
  const line = (value: (invocation: Invocation) => number): number =>
    atNoRecords(warm.map((invocation) => ({ records: invocation.records, value: value(invocation) })));
  return {
    memoryMegabytes: warm[0]?.memoryMegabytes ?? 0,
    logBytes: line(({ logBytes }) => logBytes),
    cpuMs: line(cpuMsOf),
  };
}

function counted(run: PathRun, system: System, perInvocation: OperationTable['perInvocation']): PathCount {
  const { functions, retryQueueUrl } = system.endpoints;
  const { path, messages, fanOut, entries } = run;
  const of = (functionName: string, cost: Cost, sendsOf: (units: Units) => number): Units => {
    const made = tallyOf(entries, { functionName, retryQueueUrl });
    const records = ofRecords(invocationsOf(entries, functionName), cost);
    return { ...sentAlone(made, callsOf(entries, functionName), sendsOf(made)), ...records };
  };
  const fired = entries.filter(({ kind }) => kind === 'fired').length;
  const delivering = invocationsOf(entries, functions.deliver);
  const retries = delivering.filter(isFedBy(retryQueueUrl)).length;
  // A wake-up is a send. The jobs of a message are one send, as they fit into a request.
  const deliver = of(functions.deliver, perInvocation.deliver, ({ joinedMessages = 0 }) => joinedMessages);
  const dispatch = of(functions.dispatch, perInvocation.dispatch, () => messages);
  return {
    path,
    messages,
    fanOut,
    invocations: {
      dispatch: invocationsOf(entries, functions.dispatch).length,
      first: delivering.length - retries,
    },
    dispatch,
    deliver: { ...deliver, schedules: fired, attempts: requestsOf(run) },
  };
}

/** The cost of records beyond the fixed cost of their invocations. Cold invocations count as warm ones. */
function ofRecords(all: readonly Invocation[], cost: Cost): Pick<Units, 'logBytes' | 'cpuMs'> {
  const warm = all.filter(({ cold }) => !cold);
  if (warm.length === 0) throw new Problem('All invocations of a path were cold starts.');
  const records = (some: readonly Invocation[]): number => sumOf(some, (invocation) => invocation.records);
  const scale = records(all) / records(warm);
  return {
    logBytes: scale * sumOf(warm, ({ logBytes }) => logBytes - cost.logBytes),
    cpuMs: scale * sumOf(warm, (invocation) => cpuMsOf(invocation) - cost.cpuMs),
  };
}

type SharedRead = OperationTable['sharedReads']['queue'];

/** The reads of an invocation, from first successes, which make no other reads. */
function sharedReads(runs: readonly PathRun[], { endpoints }: System): OperationTable['sharedReads'] {
  const { dispatch, deliver } = endpoints.functions;
  const [one, hundred] = [ofPath(runs, 'delivered'), ofPath(runs, 'delivered_hundred')];
  const each = (
    { entries }: PathRun,
    functionName: string,
    isCounted: (item: string) => boolean = () => true,
  ): SharedRead => {
    const reads = callsOf(entries, functionName)
      .filter(({ repeat, readUnits }) => !repeat && readUnits !== undefined)
      .filter(({ item = '' }) => isCounted(item));
    const invocations = invocationsOf(entries, functionName).length;
    const units = sumOf(reads, ({ readUnits = 0 }) => readUnits);
    return { units: units / invocations, calls: reads.length / invocations };
  };
  const [list, longList] = [each(one, dispatch), each(hundred, dispatch)];
  const further = hundred.fanOut - one.fanOut;
  return {
    dispatch: list,
    furtherSubscription: {
      units: (longList.units - list.units) / further,
      calls: (longList.calls - list.calls) / further,
    },
    queue: each(one, deliver, (item) => item.endsWith(' META')),
    subscription: each(one, deliver, (item) => item.includes(' SUB#')),
  };
}

async function reconcileRuns({
  endpoints,
  log,
  reconcile,
}: System): Promise<{ units: Units; perInvocation: Cost }> {
  const from = log().length;
  for (let run = 0; run < RECONCILE_RUNS; run += 1) await reconcile();
  const entries: CallLogEntry[] = log().slice(from);
  const functionName = endpoints.functions.reconcile;
  const all = invocationsOf(entries, functionName);
  const warm = all.filter(({ cold }) => !cold);
  const calls = tallyOf(
    entries.filter(({ kind }) => kind === 'call'),
    { functionName, retryQueueUrl: '' },
  );
  return {
    units: rounded(times(calls, 1 / all.length)),
    perInvocation: {
      memoryMegabytes: warm[0]?.memoryMegabytes ?? 0,
      logBytes: meanOf(warm, ({ logBytes }) => logBytes),
      cpuMs: meanOf(warm, cpuMsOf),
    },
  };
}

const templateSchema = z.looseObject({ Resources: z.unknown() });

function alarmMetricsIn(template: unknown): number {
  return sumOf(alarmsIn(templateSchema.parse(template).Resources), ({ metrics }) => metrics.length);
}

async function monitoring({ endpoints }: System): Promise<OperationTable['monitoring']> {
  const { stacks } = await deployedStacks(endpoints);
  const types = stacks.flatMap(({ resources }) => [...resources.values()].map(({ type }) => type));
  const count = (wanted: string): number => types.filter((type) => type === wanted).length;
  return {
    alarmMetrics: sumOf(stacks, ({ template }) => alarmMetricsIn(template)),
    compositeAlarms: count('AWS::CloudWatch::CompositeAlarm'),
    dashboards: count('AWS::CloudWatch::Dashboard'),
    keys: count('AWS::KMS::Key'),
  };
}
