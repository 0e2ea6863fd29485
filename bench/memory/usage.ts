import { variables } from '../../shared/config/resources.ts';
import { Problem } from '../../local/install/problem.mjs';
import { median } from '../measured/figures.ts';
import { startFunction, type MeasuredFunction } from '../measured/measured-function.ts';
import { DATA_BYTES, ingressMessages } from '../measured/messages.ts';
import type { Stubs } from '../measured/stubs.ts';

/** Megabytes that the whole process has held at most, by what it was given. */
export type Peaks = Readonly<Record<string, number>>;

/** By one delivery, and peaks. */
export type FunctionUsage = { cpuMs: number; awsCalls: number; peaks: Peaks };

export type Usage = { dispatch: FunctionUsage; deliver: FunctionUsage };

export type UsageOptions = {
  memoryMegabytes: number;
  stubs: Stubs;
  /** Origin of a receiver that takes memory. */
  hostile: string;
  folder: string;
  isShort: boolean;
};

/** Of a message. */
export const FAN_OUT = 10;

/** Messages that Lambda brings at once at most. */
const BATCH = 10;

/** Bytes of data with which a message still travels inside its jobs (64 KB with the rest of its body). */
const LARGE = 64_000;

const LENGTH = { full: { rounds: 5, messages: 100 }, short: { rounds: 1, messages: 10 } };

/**
 * What both functions take in processes whose heap is as in Lambda functions of that size, each kind of work in a process of
 * its own, because the most that one has held it never forgets.
 * @throws Problem when a message was not acknowledged, or a process ended for want of memory
 */
export const measureAt = async (options: UsageOptions): Promise<Usage> => {
  const { stubs, hostile, isShort } = options;
  const { rounds, messages } = LENGTH[isShort ? 'short' : 'full'];
  const usual = await inProcesses(options, { name: 'usual', rounds, messages, dataBytes: DATA_BYTES });
  const large = await inProcesses(options, { name: 'large', rounds, messages: BATCH, dataBytes: LARGE });
  const overrun = await inProcesses(options, {
    name: 'hostile',
    rounds,
    messages: BATCH,
    dataBytes: DATA_BYTES,
    subscribers: [hostile],
  });
  await stubs.takeCounts();
  const usageOf = (name: keyof Usage): FunctionUsage => ({
    cpuMs: usual[name].cpuMs,
    awsCalls: usual[name].awsCalls,
    peaks: {
      usual: usual[name].peak,
      large: large[name].peak,
      ...(name === 'deliver' ? { hostile: overrun.deliver.peak } : {}),
    },
  });
  return { dispatch: usageOf('dispatch'), deliver: usageOf('deliver') };
};

type Work = {
  name: string;
  rounds: number;
  messages: number;
  dataBytes: number;
  subscribers?: readonly string[];
};

type Measured = Record<keyof Usage, { cpuMs: number; awsCalls: number; peak: number }>;

const inProcesses = async (
  { memoryMegabytes, stubs, folder }: UsageOptions,
  { name, rounds, messages, dataBytes, subscribers }: Work,
): Promise<Measured> => {
  await using stack = new AsyncDisposableStack();
  const queue = `${name}-${memoryMegabytes}`;
  await stubs.addQueue(queue, FAN_OUT, subscribers);
  const started = (entry: string) =>
    startFunction(stack, {
      name: `${entry}-${queue}`,
      entry: new URL(`../../functions/${entry}/handler.ts`, import.meta.url),
      endpoint: stubs.endpoint,
      memoryMegabytes,
      folder,
      env: { [variables.undeliverableQueueUrl]: `${stubs.endpoint}/000000000000/undeliverable` },
    });
  const [dispatch, deliver] = [await started('dispatch'), await started('deliver')];
  const runs = { dispatch: new Array<Run>(), deliver: new Array<Run>() };
  const deliveries = messages * FAN_OUT;
  // The first round is the compiler's.
  for (let round = 0; round <= rounds; round += 1) {
    runs.dispatch.push(await runOf(stubs, dispatch, ingressMessages(queue, messages, dataBytes)));
    runs.deliver.push(await runOf(stubs, deliver, await stubs.takeJobs()));
    const { POST: posts = 0 } = runs.deliver.at(-1)?.counts ?? {};
    if (subscribers === undefined && posts !== deliveries)
      throw new Problem(`deliver made ${posts} requests where there are ${deliveries} deliveries.`);
  }
  return { dispatch: measuredOf(runs.dispatch, deliveries), deliver: measuredOf(runs.deliver, deliveries) };
};

type Run = Awaited<ReturnType<typeof runOf>>;

const runOf = async (stubs: Stubs, program: MeasuredFunction, bodies: readonly string[]) => {
  await stubs.takeCounts();
  return { ...(await program.run(bodies)), counts: await stubs.takeCounts() };
};

const measuredOf = (runs: readonly Run[], deliveries: number) => {
  const aws = Object.entries(runs.at(-1)?.counts ?? {}).filter(([call]) => call !== 'POST');
  return {
    cpuMs: median(runs.slice(1).map(({ cpuMs }) => cpuMs)) / deliveries,
    awsCalls: aws.reduce((total, [, count]) => total + count, 0) / deliveries,
    peak: Math.max(...runs.map(({ peakResidentBytes }) => peakResidentBytes)) / 2 ** 20,
  };
};
