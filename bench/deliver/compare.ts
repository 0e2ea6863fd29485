import { Problem } from '../../local/install/problem.mjs';
import type { Counts } from '../harness/stubs.ts';
import { median, spreadOf, type Spread } from '../harness/figures.ts';
import type { MeasuredFunction } from '../harness/function.ts';
import { ingressMessages, orderedIn } from '../harness/messages.ts';
import type { Run } from '../harness/child.ts';
import type { Programs } from './programs.ts';

/** Each by a delivery: one message to one subscriber. */
export type Cost = {
  /** Seconds of processor time for 1,000. */
  cpuSeconds: Spread;
  allocatedKilobytes: number;
  /** The most memory that the process had since it began. */
  peakMegabytes: number;
  /** Requests to AWS and to subscribers. */
  calls: Counts;
};

export type Comparison = {
  fanOut: number;
  rounds: number;
  deliveriesInRound: number;
  dispatch: Cost;
  deliver: Cost;
  /** Seconds of processor time of both for 1,000 deliveries. */
  bothCpuSeconds: number;
  bare: Cost;
  post: Cost;
  /** deliver by bare, each of the same round. */
  ratio: Spread;
  /** Of deliver's log. */
  logBytes: number;
};

/** How many rounds, of how many deliveries each. */
export type ComparisonLength = { rounds: number; deliveries: number };

type Round = Record<'dispatch' | 'deliver' | 'bare' | 'post', { run: Run; counts: Counts }>;

/** One after the other in each round, so that what else the machine does meets all of them alike. */
export const compare = async (
  programs: Programs,
  fanOut: number,
  { rounds: wanted, deliveries }: ComparisonLength,
  signal: AbortSignal,
): Promise<Comparison> => {
  const queue = `fan-out-${fanOut}`;
  await programs.stubs.addQueue(queue, fanOut);
  // Until the compiler has seen them often enough, programs take some times longer.
  await round(programs, queue, { fanOut, deliveries });
  await round(programs, queue, { fanOut, deliveries });
  const logged = programs.deliver.logBytes();
  const rounds: Round[] = [];
  for (let number = 0; number < wanted; number += 1) {
    signal.throwIfAborted();
    rounds.push(await round(programs, queue, { fanOut, deliveries }));
  }
  const costOf = (program: keyof Round): Cost =>
    cost(
      rounds.map((each) => each[program]),
      deliveries,
    );
  const [dispatch, deliver] = [costOf('dispatch'), costOf('deliver')];
  return {
    fanOut,
    rounds: wanted,
    deliveriesInRound: deliveries,
    dispatch,
    deliver,
    bothCpuSeconds: dispatch.cpuSeconds.median + deliver.cpuSeconds.median,
    bare: costOf('bare'),
    post: costOf('post'),
    ratio: spreadOf(rounds.map(({ deliver: ours, bare }) => ours.run.cpuMs / bare.run.cpuMs)),
    logBytes: (programs.deliver.logBytes() - logged) / (wanted * deliveries),
  };
};

const round = async (
  { stubs, dispatch, deliver, bare, post }: Programs,
  queue: string,
  { fanOut, deliveries }: { fanOut: number; deliveries: number },
): Promise<Round> => {
  const counted = async (program: MeasuredFunction, bodies: readonly string[]) => {
    await stubs.takeCounts();
    return { run: await program.run(bodies), counts: await stubs.takeCounts() };
  };
  const dispatched = await counted(dispatch, ingressMessages(queue, deliveries / fanOut));
  const jobs = await stubs.takeJobs();
  const ordered = orderedIn(jobs);
  if (ordered !== deliveries)
    throw new Problem(`dispatch ordered ${ordered} deliveries where there are ${deliveries}.`);
  return {
    dispatch: dispatched,
    deliver: await counted(deliver, jobs),
    bare: await counted(bare, jobs),
    post: await counted(post, jobs),
  };
};

const cost = (runs: readonly { run: Run; counts: Counts }[], deliveries: number): Cost => {
  const calls: Counts = {};
  for (const { counts } of runs)
    for (const [name, count] of Object.entries(counts))
      calls[name] = (calls[name] ?? 0) + count / (runs.length * deliveries);
  return {
    cpuSeconds: spreadOf(runs.map(({ run }) => run.cpuMs / deliveries)),
    allocatedKilobytes: median(runs.map(({ run }) => run.allocatedBytes / deliveries / 1000)),
    peakMegabytes: Math.max(...runs.map(({ run }) => run.peakResidentBytes)) / 2 ** 20,
    calls,
  };
};
