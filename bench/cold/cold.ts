import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import * as z from 'zod';
import { Problem } from '../../local/install/problem.mjs';
import { bundle, functionNames, type BundleSize, type FunctionName } from '../../test/support/bundle.ts';
import { certificateAuthority } from '../../test/support/certificates.ts';
import { type BenchMeans, type Length, runBench } from '../harness/command.ts';
import { median, type Ratio } from '../harness/figures.ts';
import { failedAnswer, QUEUE, smallestEvents } from '../harness/smallest-events.ts';
import { startStubAws, type StubAws } from '../harness/stub-aws.ts';

const taken = z.object({ cpuMs: z.number(), wallMs: z.number() });
const report = z.object({ load: taken, first: taken, answer: z.unknown() });

/** Milliseconds for loading the module and for the first invocation. */
type Start = Pick<z.infer<typeof report>, 'load' | 'first'>;

/** `bare`: the same calls with the SDK in its usual bundle; `limit`: the same in a bundle made as in a deployment. */
const kinds = ['ours', 'bare', 'limit'] as const;
type Kind = (typeof kinds)[number];

/** Medians over the rounds. */
type Cost = Start & {
  function: FunctionName;
  program: Kind;
  /** What is loaded at a start. */
  bundleBytes: number;
  /** Including what is loaded on demand. */
  wholeBytes: number;
  /** Processor time of load and first invocation: the function's by this program's. */
  oursByIt: number;
};

type Figures = { rounds: number; ratios: readonly Ratio[]; starts: readonly Cost[] };

type Program = { name: string; bundle: string; event: string; env: Environment; size: BundleSize };
type Environment = Readonly<Record<string, string>>;
type Contest = Record<Kind, Program> & { name: FunctionName };

/** Without the portal, which only passes requests on and has its page beside its bundle. */
const compared = functionNames.filter((name) => name !== 'portal');

/** Bundles with all that a deployment replaces or leaves out. */
const AS_IT_COMES = { alias: {}, define: {}, splitting: false };

const ROUNDS = { full: 21, short: 1 };

/** Two runs on a shared machine differ by half of the first. */
const TOLERANCE = { start: 0.1, bundle: 0.03 };

/** Bytes that a bundle should stay below. */
const BUNDLE = 1_000_000;

async function measure(length: Length, { stack, signal, say }: BenchMeans): Promise<Figures> {
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
  const contests = await Promise.all(compared.map((name) => contestOf(name, folder, env)));
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

async function contestOf(name: FunctionName, folder: string, env: Environment): Promise<Contest> {
  const event = join(folder, `${name}.json`);
  await writeFile(event, JSON.stringify(smallestEvents(Date.now())[name]));
  const program = async (kind: Kind, entry: URL, substitutes = {}): Promise<Program> => {
    const file = join(folder, `${name}-${kind}`, 'index.mjs');
    const size = await bundle(entry, file, substitutes);
    return { name: `${name} (${kind})`, bundle: file, event, env, size };
  };
  const bare = join(folder, `${name}-bare.ts`);
  await writeFile(
    bare,
    `export { ${name} as handler } from '${new URL('bare.ts', import.meta.url).pathname}';`,
  );
  return {
    name,
    ours: await program('ours', new URL(`../../functions/${name}/handler.ts`, import.meta.url)),
    bare: await program('bare', pathToFileURL(bare), AS_IT_COMES),
    limit: await program('limit', pathToFileURL(bare)),
  };
}

/** Also loads the files of all programs into memory. @throws Problem */
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
      throw new Problem(`${ours.name} makes the calls ${asked}, ${other.name} ${otherAsked}.`);
  }
}

/** Alternates the programs, so that other work on the machine disturbs all of them alike. */
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

/** A start takes less than one second on an idle machine. */
const PATIENCE_MS = 60_000;

const script = fileURLToPath(new URL('one-start.mjs', import.meta.url));

const failedProcess = z.object({ stderr: z.string() });

/** Runs one program in a separate process. @throws Problem when it failed */
async function startOnce({ name, bundle, event, env }: Program, signal: AbortSignal): Promise<Start> {
  const said = `${bundle}.json`;
  // Without the caller's environment, which could change the figures.
  const options = { env: { ...env }, timeout: PATIENCE_MS, signal };
  await promisify(execFile)(process.execPath, [script, bundle, event, said], options).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      throw new Problem(`${name} did not start. ${failedProcess.safeParse(error).data?.stderr ?? ''}`);
    },
  );
  const { answer, ...start } = report.parse(JSON.parse(await readFile(said, 'utf8')));
  if (failedAnswer.safeParse(answer).success) throw new Problem(`${name} failed: ${JSON.stringify(answer)}`);
  return start;
}

process.exitCode = await runBench({ name: 'cold', measure }, process.argv.slice(2));
