import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AWS_CALL_MS } from '../../cli/commands/plan/bill.ts';
import { startReceivers } from '../../test/hostile/run.ts';
import type { BenchMeans } from '../measured/command.ts';
import type { Ratio } from '../measured/ratios.ts';
import { startStubs } from '../measured/stubs.ts';
import { demandMachine, machine, type Machine } from '../machine.ts';
import { priceOf, type Price } from './price.ts';
import { FAN_OUT, measureAt, type Peaks, type Usage } from './usage.ts';

/** Megabytes that functions are looked at with. At 1,769 one has a whole processor. */
const SIZES = { full: [256, 512, 1024, 1769], short: [512] };

/** Megabytes that dispatch and deliver are deployed with (infra/constructs). */
const DEPLOYED = 512;

/** Milliseconds that a subscriber takes, as `posthaste plan` assumes it. */
const SUBSCRIBER_MS = 100;

export type Prices = {
  /** Of one message to ten subscriptions. */
  dispatch: Price;
  /** Of ten deliveries side by side, and of one, which is the dearest. */
  deliverTen: Price;
  deliverOne: Price;
};

export type Sized = Usage & {
  memoryMegabytes: number;
  prices: Prices;
};

export type MemoryResult = {
  name: 'memory';
  measuredAt: string;
  machine: Machine;
  subscriberMs: number;
  ratios: readonly Ratio[];
  sizes: readonly Sized[];
};

/** What a process holds at most depends on when garbage is collected. */
const TOLERANCE = 0.25;

/** @throws Problem when something cannot be measured; also when a function needs more than it may have */
export const measureMemory = async (
  length: 'full' | 'short',
  { stack, signal, say }: BenchMeans,
): Promise<MemoryResult> => {
  demandMachine({ memoryGigabytes: 2 });
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-memory-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const stubs = await startStubs(stack);
  const { origins } = await startReceivers({ stack, signal }, [HOSTILE]);
  const hostile = origins.get(HOSTILE);
  if (hostile === undefined) throw new Error('The hostile receiver listens nowhere.');
  const sizes: Sized[] = [];
  for (const memoryMegabytes of SIZES[length]) {
    say(`Measuring at ${memoryMegabytes} MB`);
    signal.throwIfAborted();
    const usage = await measureAt({ memoryMegabytes, stubs, hostile, folder, isShort: length === 'short' });
    sizes.push({ memoryMegabytes, ...usage, prices: pricesOf(usage, memoryMegabytes) });
  }
  return {
    name: 'memory',
    measuredAt: new Date().toISOString(),
    machine: machine(),
    subscriberMs: SUBSCRIBER_MS,
    ratios: sizes.filter(({ memoryMegabytes }) => memoryMegabytes === DEPLOYED).flatMap(ratiosOf),
    sizes,
  };
};

/** The kind of receiver that takes the most memory of all (docs/guarantees.md, "Hostile receivers"). */
const HOSTILE = 'endless_headers';

const pricesOf = ({ dispatch, deliver }: Usage, memoryMegabytes: number): Prices => {
  const deliveries = (count: number): Price => {
    const waitingMs = deliver.awsCalls * AWS_CALL_MS + SUBSCRIBER_MS;
    return priceOf({ deliveries: count, cpuMs: count * deliver.cpuMs, waitingMs }, memoryMegabytes);
  };
  const message = {
    deliveries: FAN_OUT,
    cpuMs: FAN_OUT * dispatch.cpuMs,
    waitingMs: FAN_OUT * dispatch.awsCalls * AWS_CALL_MS,
  };
  return {
    dispatch: priceOf(message, memoryMegabytes),
    deliverTen: deliveries(10),
    deliverOne: deliveries(1),
  };
};

const ratiosOf = ({ memoryMegabytes, dispatch, deliver }: Sized): Ratio[] => [
  ratioOf('dispatch', dispatch.peaks, memoryMegabytes),
  ratioOf('deliver', deliver.peaks, memoryMegabytes),
];

const ratioOf = (name: string, peaks: Peaks, memoryMegabytes: number): Ratio => ({
  name: `most memory of ${name} by what it has`,
  ratio: Math.max(...Object.values(peaks)) / memoryMegabytes,
  tolerance: TOLERANCE,
});
