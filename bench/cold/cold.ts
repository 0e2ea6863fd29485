import { type Column, tableLines } from '../../cli/output/table.ts';
import { Problem } from '../../local/install/problem.mjs';
import { bundle, functionNames, type BundleSize, type FunctionName } from '../../test/support/bundle.ts';
import { type BenchMeans, runBench } from '../harness/command.ts';
import { median, type Ratio } from '../harness/figures.ts';
import { demandMachine, machine, type Machine } from '../harness/machine.ts';
import { type Program, type Start, startOnce } from './start-once.ts';
import { startStubAws, type StubAws } from './stub-aws.ts';
import { DATA_KEY, environmentFor, eventsAt, itemsFor } from './world.ts';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Medians over the rounds. */
type Cost = {
  /** What is loaded at a start. */
  bundleBytes: number;
  /** With what is loaded when it is needed. */
  wholeBytes: number;
  load: Start['load'];
  first: Start['first'];
};

type ColdFunction = {
  function: FunctionName;
  /** Processor time of load and first invocation together, by the bare handler's. */
  ratio: number;
  /** The same by the bare handler in a bundle made as ours are: what our own code adds. */
  ratioToLimit: number;
  ours: Cost;
  /** With the SDK as it comes. */
  bare: Cost;
  limit: Cost;
};

type ColdResult = {
  name: 'cold';
  measuredAt: string;
  machine: Machine;
  rounds: number;
  ratios: readonly Ratio[];
  functions: readonly ColdFunction[];
};

/** The same calls by the SDK alone. */
const BARE: Record<FunctionName, string> = {
  dispatch: 'bare/dispatch.ts',
  deliver: 'bare/deliver.ts',
  reconcile: 'bare/query-shards.ts',
  operate: 'bare/query-shards.ts',
  api: 'bare/api.ts',
};

/** Bundled without what we replace or leave out. */
const AS_IT_COMES = { alias: {}, define: {}, external: [], splitting: false };

const ROUNDS = { full: 21, short: 1 };

/** Two runs differ by half of the first on a shared machine; a bundle grows by what is put into it. */
const TOLERANCE = { start: 0.1, bundle: 0.03 };

/** Bytes that a bundle should stay below. */
const BUNDLE = 1_000_000;

type Kind = 'ours' | 'bare' | 'limit';

type Contest = { name: FunctionName } & Record<Kind, Bundled>;

type Bundled = Program & { size: BundleSize };

/** @throws Problem when something cannot be measured */
const measureCold = async (
  length: 'full' | 'short',
  { stack, signal, say }: BenchMeans,
): Promise<ColdResult> => {
  demandMachine();
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-cold-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const stub = stack.use(await startStubAws(itemsFor, DATA_KEY));
  say('Bundling');
  const contests = await contestsIn(folder, stub);
  for (const contest of contests) await demandSameCalls(contest, stub, signal);
  const functions: ColdFunction[] = [];
  for (const contest of contests) {
    say(`Starting ${contest.name}`);
    functions.push(await compare(contest, ROUNDS[length], signal));
  }
  return {
    name: 'cold',
    measuredAt: new Date().toISOString(),
    machine: machine(),
    rounds: ROUNDS[length],
    ratios: functions.flatMap(ratiosOf),
    functions,
  };
};

const ratiosOf = ({ function: name, ratio, ours }: ColdFunction): Ratio[] => [
  { name, ratio, tolerance: TOLERANCE.start },
  { name: `${name}, bundle by 1 MB`, ratio: ours.bundleBytes / BUNDLE, tolerance: TOLERANCE.bundle },
];

const contestsIn = async (folder: string, stub: StubAws): Promise<Contest[]> => {
  const authority = join(folder, 'authority.pem');
  await writeFile(authority, stub.authority);
  const env = { ...environmentFor(stub.url), NODE_EXTRA_CA_CERTS: authority };
  const events = eventsAt(Date.now());
  return Promise.all(
    functionNames.map(async (name) => {
      const event = join(folder, `${name}.json`);
      await writeFile(event, JSON.stringify(events[name]));
      const program = async (kind: Kind, entry: string, substitutes = {}): Promise<Bundled> => {
        const file = join(folder, `${name}-${kind}`, 'index.mjs');
        const size = await bundle(new URL(entry, import.meta.url), file, substitutes);
        return { name: `${name} (${kind})`, bundle: file, event, env, size };
      };
      return {
        name,
        ours: await program('ours', `../../functions/${name}/handler.ts`),
        bare: await program('bare', BARE[name], AS_IT_COMES),
        limit: await program('limit', BARE[name]),
      };
    }),
  );
};

/** The first start of each; from then on their files are in memory. */
const demandSameCalls = async (contest: Contest, stub: StubAws, signal: AbortSignal): Promise<void> => {
  const callsOf = async (program: Program): Promise<string> => {
    await startOnce(program, signal);
    return stub.takeCalls().join(', ');
  };
  const { ours, bare, limit } = contest;
  const asked = await callsOf(ours);
  for (const other of [bare, limit]) {
    const otherAsked = await callsOf(other);
    if (asked !== otherAsked)
      throw new Problem(`${ours.name} asks ${asked}; what it is held against asks ${otherAsked}.`);
  }
};

/** One after the other in each round, so that what else the machine does meets all of them alike. */
const compare = async (contest: Contest, rounds: number, signal: AbortSignal): Promise<ColdFunction> => {
  const starts: Record<Kind, Start[]> = { ours: [], bare: [], limit: [] };
  for (let round = 0; round < rounds; round += 1) {
    starts.ours.push(await startOnce(contest.ours, signal));
    starts.bare.push(await startOnce(contest.bare, signal));
    starts.limit.push(await startOnce(contest.limit, signal));
  }
  const cpuMs = (kind: Kind): number =>
    median(starts[kind].map(({ load, first }) => load.cpuMs + first.cpuMs));
  const cost = (kind: Kind): Cost => costOf(contest[kind], starts[kind]);
  return {
    function: contest.name,
    ratio: cpuMs('ours') / cpuMs('bare'),
    ratioToLimit: cpuMs('ours') / cpuMs('limit'),
    ours: cost('ours'),
    bare: cost('bare'),
    limit: cost('limit'),
  };
};

const costOf = ({ size }: Bundled, starts: readonly Start[]): Cost => {
  const middle = (part: keyof Start): Start['load'] => ({
    cpuMs: median(starts.map((start) => start[part].cpuMs)),
    wallMs: median(starts.map((start) => start[part].wallMs)),
  });
  return { bundleBytes: size.start, wholeBytes: size.whole, load: middle('load'), first: middle('first') };
};

const right = (head: string): Column => ({ head, align: 'right' });

const columns: readonly Column[] = [
  { head: 'function' },
  right('KB at a start'),
  right('KB in all'),
  right('load, CPU ms'),
  right('first, CPU ms'),
  right('both, wall ms'),
  right('ratio'),
];

const row = (
  name: string,
  { bundleBytes, wholeBytes, load, first }: ColdFunction['ours'],
  ratio: string,
): string[] => [
  name,
  (bundleBytes / 1000).toFixed(0),
  (wholeBytes / 1000).toFixed(0),
  load.cpuMs.toFixed(0),
  first.cpuMs.toFixed(0),
  (load.wallMs + first.wallMs).toFixed(0),
  ratio,
];

/** The result as a person reads it. */
const resultText = ({ rounds, functions }: ColdResult): string =>
  [
    `Cold starts, each in a process of its own: medians of ${rounds}.`,
    'Bare: the same calls by the SDK alone, as it comes. Limit: the same in a bundle made as ours are.',
    ...tableLines(
      columns,
      functions.flatMap(({ function: name, ours, bare, limit, ratio, ratioToLimit }) => [
        row(name, ours, ''),
        row('  by bare', bare, ratio.toFixed(2)),
        row('  by limit', limit, ratioToLimit.toFixed(2)),
      ]),
    ),
  ].join('\n');

process.exitCode = await runBench(
  { name: 'cold', measure: measureCold, text: resultText },
  process.argv.slice(2),
);
