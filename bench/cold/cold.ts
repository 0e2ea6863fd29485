import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import { Problem } from '../../local/install/problem.mjs';
import { bundle, functionNames, type BundleSize, type FunctionName } from '../../test/support/bundle.ts';
import { certificateAuthority } from '../../test/support/certificates.ts';
import { type BenchMeans, runBench } from '../harness/command.ts';
import { median, type Ratio } from '../harness/figures.ts';
import { startStubAws, type StubAws } from '../harness/stub-aws.ts';
import { eventsAt, QUEUE } from './events.ts';

const taken = z.object({ cpuMs: z.number(), wallMs: z.number() });
const report = z.object({ load: taken, first: taken, answer: z.unknown() });

/** What loading the module took, and the first invocation. Milliseconds. */
type Start = Pick<z.infer<typeof report>, 'load' | 'first'>;

/** `bare`: the same calls by the SDK as it comes; `limit`: the same in a bundle made as ours are. */
const kinds = ['ours', 'bare', 'limit'] as const;
type Kind = (typeof kinds)[number];

/** A program's starts: medians over the rounds. */
type Cost = Start & {
  function: FunctionName;
  program: Kind;
  /** What is loaded at a start. */
  bundleBytes: number;
  /** With what is loaded when it is needed. */
  wholeBytes: number;
  /** Processor time of load and first invocation together: ours by this program's. */
  oursByIt: number;
};

type Figures = { rounds: number; ratios: readonly Ratio[]; starts: readonly Cost[] };

type Program = {
  name: string;
  bundle: string;
  event: string;
  env: Readonly<Record<string, string>>;
  size: BundleSize;
};

type Contest = Record<Kind, Program> & { name: FunctionName };

/** The same calls by the SDK alone. */
const BARE: Record<FunctionName, string> = {
  dispatch: 'bare/dispatch.ts',
  deliver: 'bare/deliver.ts',
  reconcile: 'bare/query-shards.ts',
  operate: 'bare/operate.ts',
  api: 'bare/api.ts',
};

/** Bundled without what we replace or leave out. */
const AS_IT_COMES = { alias: {}, define: {}, external: [], splitting: false };

const ROUNDS = { full: 21, short: 1 };

/** Two runs differ by half of the first on a shared machine; a bundle grows by what is put into it. */
const TOLERANCE = { start: 0.1, bundle: 0.03 };

/** Bytes that a bundle should stay below. */
const BUNDLE = 1_000_000;

async function measureCold(length: 'full' | 'short', { stack, signal, say }: BenchMeans): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-cold-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const authority = certificateAuthority('Bench');
  const tls = authority.issue({ names: ['127.0.0.1'] });
  const stub = await startStubAws(stack, { subscribers: 1, tls });
  stub.addQueue(QUEUE, 1);
  const trusted = join(folder, 'authority.pem');
  await writeFile(trusted, authority.cert);
  const env = {
    ...stub.environment,
    NODE_EXTRA_CA_CERTS: trusted,
    SUBSCRIBER_URL: stub.subscriberAt(0),
  };
  say('Bundling');
  const contests = await Promise.all(functionNames.map((name) => contestOf(name, folder, env)));
  for (const contest of contests) await demandSameCalls(contest, stub, signal);
  const ratios: Ratio[] = [];
  const starts: Cost[] = [];
  for (const contest of contests) {
    const { name } = contest;
    say(`Starting ${name}`);
    const { ours, bare, limit } = await compare(contest, ROUNDS[length], signal);
    starts.push(ours, bare, limit);
    ratios.push(
      { name, ratio: bare.oursByIt, tolerance: TOLERANCE.start },
      { name: `${name}, bundle by 1 MB`, ratio: ours.bundleBytes / BUNDLE, tolerance: TOLERANCE.bundle },
    );
  }
  return { rounds: ROUNDS[length], ratios, starts };
}

async function contestOf(name: FunctionName, folder: string, env: Program['env']): Promise<Contest> {
  const event = join(folder, `${name}.json`);
  await writeFile(event, JSON.stringify(eventsAt(Date.now())[name]));
  const program = async (kind: Kind, entry: string, substitutes = {}): Promise<Program> => {
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
}

/** The first start of each; from then on their files are in memory. */
async function demandSameCalls(contest: Contest, stub: StubAws, signal: AbortSignal): Promise<void> {
  const callsOf = async (program: Program): Promise<string> => {
    stub.takeCounts();
    await startOnce(program, signal);
    const counts = Object.entries(stub.takeCounts()).map(([name, count]) => `${count} ${name}`);
    return counts.toSorted().join(', ');
  };
  const { ours, bare, limit } = contest;
  const asked = await callsOf(ours);
  for (const other of [bare, limit]) {
    const otherAsked = await callsOf(other);
    if (asked !== otherAsked)
      throw new Problem(`${ours.name} asks ${asked}; what it is held against asks ${otherAsked}.`);
  }
}

/** One after the other in each round, so that what else the machine does meets all of them alike. */
async function compare(contest: Contest, rounds: number, signal: AbortSignal): Promise<Record<Kind, Cost>> {
  const starts: Record<Kind, Start[]> = { ours: [], bare: [], limit: [] };
  for (let round = 0; round < rounds; round += 1)
    for (const kind of kinds) starts[kind].push(await startOnce(contest[kind], signal));
  const cpuMs = (kind: Kind): number =>
    median(starts[kind].map(({ load, first }) => load.cpuMs + first.cpuMs));
  const costOf = (program: Kind): Cost => {
    const middle = (part: keyof Start): Start['load'] => ({
      cpuMs: median(starts[program].map((start) => start[part].cpuMs)),
      wallMs: median(starts[program].map((start) => start[part].wallMs)),
    });
    const { start: bundleBytes, whole: wholeBytes } = contest[program].size;
    return {
      function: contest.name,
      program,
      bundleBytes,
      wholeBytes,
      load: middle('load'),
      first: middle('first'),
      oursByIt: cpuMs('ours') / cpuMs(program),
    };
  };
  return { ours: costOf('ours'), bare: costOf('bare'), limit: costOf('limit') };
}

/** Milliseconds for all of it; it takes less than one second, and some on a machine with a lot to do. */
const PATIENCE_MS = 60_000;

const script = fileURLToPath(new URL('one-start.mjs', import.meta.url));

/** Records that a function did not acknowledge, or an answer of the API that tells of a fault. */
const failure = z.union([
  z.object({ batchItemFailures: z.array(z.unknown()).min(1) }),
  z.object({ statusCode: z.number().min(400) }),
]);

const failedProcess = z.object({ stderr: z.string() });

/**
 * One program in a process of its own, which ends with it.
 * @throws Problem when it failed: what it took then says nothing
 */
async function startOnce({ name, bundle, event, env }: Program, signal: AbortSignal): Promise<Start> {
  const said = `${bundle}.json`;
  // Nothing of the caller's environment is passed on: it could change what is measured.
  const options = { env: { ...env }, timeout: PATIENCE_MS, signal };
  await promisify(execFile)(process.execPath, [script, bundle, event, said], options).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      throw new Problem(`${name} did not start. ${failedProcess.safeParse(error).data?.stderr ?? ''}`);
    },
  );
  const { answer, ...start } = report.parse(JSON.parse(await readFile(said, 'utf8')));
  if (failure.safeParse(answer).success)
    throw new Problem(`${name} could not do what it was asked: ${JSON.stringify(answer)}`);
  return start;
}

process.exitCode = await runBench({ name: 'cold', measure: measureCold }, process.argv.slice(2));
