import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../local/install/problem.mjs';
import { demandMachine, machine, type Machine } from '../machine.ts';
import type { BenchMeans } from '../measured/command.ts';
import { median } from '../measured/figures.ts';
import { startFunction, type MeasuredFunction } from '../measured/measured-function.ts';
import { DATA_BYTES, ingressMessages } from '../measured/messages.ts';
import type { Ratio } from '../measured/ratios.ts';
import { startStubs, type Stubs } from '../measured/stubs.ts';
import { startSystem } from '../operations/system.ts';
import { deployedFanOut, type DeployedFanOut } from './deployed.ts';
import { orderedIn } from '../measured/ordered.ts';
import { onTwins, type TwinCost } from './twins.ts';

/** What a message to so many subscriptions costs by each of them. */
export type FanOutCost = {
  fanOut: number;
  /** In a round. */
  messages: number;
  /** Microseconds of processor time of the function. */
  cpuMicroseconds: number;
  /** Requests to AWS. */
  calls: number;
  allocatedKilobytes: number;
  /** Of a message to all of them, at the slowest. */
  messageSeconds: number;
  twins: TwinCost;
};

export type DispatchResult = {
  name: 'dispatch';
  measuredAt: string;
  machine: Machine;
  dataBytes: number;
  ratios: readonly Ratio[];
  fanOuts: readonly FanOutCost[];
  /** On the local AWS. */
  deployed: readonly DeployedFanOut[];
};

/** Seconds that the function has (infra/constructs/functions/dispatch-function.ts). */
const TIMEOUT_SECONDS = 30;

/** A tenth of what makes a full batch of jobs: from here on what a message costs by itself is spread thin. */
const WIDE = 100;

const lengths = {
  full: {
    fanOuts: [1, 10, 100, 1_000, 10_000],
    rounds: 5,
    subscribers: 2_000,
    deployed: { fanOuts: [1, 10, 100, 1_000], messages: 3 },
  },
  short: {
    fanOuts: [1, 100, 200],
    rounds: 2,
    subscribers: 100,
    deployed: { fanOuts: [1, 100], messages: 1 },
  },
} as const;

/** The local AWS, with some twenty functions' processes. */
const MEMORY_GIGABYTES = 2;

const TOLERANCE = 0.25;

/** The local AWS shares two cores with what it runs. */
const DEPLOYED_TOLERANCE = 0.75;

/** @throws Problem when something cannot be measured, or a message takes longer than a function has */
export const measureDispatch = async (
  length: 'full' | 'short',
  { stack, signal, say }: BenchMeans,
): Promise<DispatchResult> => {
  demandMachine({ memoryGigabytes: MEMORY_GIGABYTES });
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const stubs = await startStubs(stack);
  const entry = new URL('../../functions/dispatch/handler.ts', import.meta.url);
  const dispatch = await startFunction(stack, { name: 'dispatch', entry, endpoint: stubs.endpoint, folder });
  const { fanOuts, rounds, subscribers, deployed } = lengths[length];
  const costs: FanOutCost[] = [];
  for (const fanOut of fanOuts) {
    signal.throwIfAborted();
    say(`Dispatching to ${fanOut}`);
    const messages = Math.max(1, Math.round(subscribers / fanOut));
    costs.push(await costOf({ stubs, dispatch }, { fanOut, messages, rounds }));
  }
  const system = await startSystem(stack, signal);
  const onLocalAws: DeployedFanOut[] = [];
  for (const fanOut of deployed.fanOuts) {
    say(`On the local AWS: to ${fanOut}`);
    onLocalAws.push(await deployedFanOut(system, fanOut, deployed.messages));
  }
  return {
    name: 'dispatch',
    measuredAt: new Date().toISOString(),
    machine: machine(),
    dataBytes: DATA_BYTES,
    ratios: [
      {
        name: `processor time by a subscriber at the widest fan-out by that at ${WIDE}`,
        ratio: widestByWide(costs, ({ cpuMicroseconds }) => cpuMicroseconds),
        tolerance: TOLERANCE,
      },
      {
        name: `on the local AWS: time of dispatch by a subscriber at the widest fan-out by that at ${WIDE}`,
        ratio: widestByWide(onLocalAws, ({ dispatchMs, fanOut }) => dispatchMs / fanOut),
        tolerance: DEPLOYED_TOLERANCE,
      },
    ],
    fanOuts: costs,
    deployed: onLocalAws,
  };
};

const widestByWide = <Of extends { fanOut: number }>(
  all: readonly Of[],
  figure: (one: Of) => number,
): number => {
  const [widest, wide] = [all.at(-1), all.find(({ fanOut }) => fanOut === WIDE)];
  return widest === undefined || wide === undefined ? Number.NaN : figure(widest) / figure(wide);
};

const costOf = async (
  { stubs, dispatch }: { stubs: Stubs; dispatch: MeasuredFunction },
  { fanOut, messages, rounds }: { fanOut: number; messages: number; rounds: number },
): Promise<FanOutCost> => {
  const queue = `fan-out-${fanOut}`;
  await stubs.addQueue(queue, fanOut);
  const subscribers = fanOut * messages;
  const round = async () => {
    await stubs.takeCounts();
    const run = await dispatch.run(ingressMessages(queue, messages));
    const ordered = orderedIn(await stubs.takeJobs());
    if (ordered !== subscribers)
      throw new Problem(`dispatch ordered ${ordered} deliveries where there are ${subscribers} subscribers.`);
    const calls = Object.values(await stubs.takeCounts()).reduce((total, count) => total + count, 0);
    return { ...run, calls };
  };
  await round();
  const runs = [];
  for (let number = 0; number < rounds; number += 1) runs.push(await round());
  // Ten messages share an invocation, so that this is too much where there are several, and exact where there is one.
  const messageSeconds = Math.max(...runs.map(({ wallMs }) => wallMs / 1000 / Math.ceil(messages / 10)));
  if (messageSeconds > TIMEOUT_SECONDS)
    throw new Problem(`A message to ${fanOut} took ${messageSeconds.toFixed(1)} s of ${TIMEOUT_SECONDS}.`);
  return {
    fanOut,
    messages,
    cpuMicroseconds: median(runs.map(({ cpuMs }) => (cpuMs * 1000) / subscribers)),
    calls: median(runs.map(({ calls }) => calls / subscribers)),
    allocatedKilobytes: median(runs.map(({ allocatedBytes }) => allocatedBytes / 1000 / subscribers)),
    messageSeconds,
    twins: await onTwins(fanOut, rounds),
  };
};
