import { randomUUID } from 'node:crypto';
import { median } from '../harness/figures.ts';
import { ingressMessages } from '../harness/messages.ts';
import type { Run } from '../harness/child.ts';
import type { Programs } from './programs.ts';

/** Whether a function that lives long costs more and more. Seconds of processor time are for 1,000 deliveries. */
export type Endurance = {
  deliveries: number;
  /** Of the last fifth by the first, each by the bare program's beside it. */
  growth: number;
  firstCpuSeconds: number;
  lastCpuSeconds: number;
  /** The bare program's, measured beside them: what else the machine did then. */
  firstBareCpuSeconds: number;
  lastBareCpuSeconds: number;
  /** Of V8's heap after a collection. */
  firstHeapMegabytes: number;
  lastHeapMegabytes: number;
  /** Of the process. */
  firstResidentMegabytes: number;
  lastResidentMegabytes: number;
  /** By which the heap grew for each delivery between the middle of the run and its end; below 0 it shrank. */
  heapBytesPerDelivery: number;
};

const PARTS = 20;

/** Deliveries of the bare program after each part. */
const BESIDE = 200;

/** Parts whose figures are taken together as the first, and as the last. */
const ENDS = 4;

export const endure = async (
  { stubs, dispatch, deliver, bare }: Programs,
  deliveries: number,
  signal: AbortSignal,
): Promise<Endurance> => {
  await stubs.addQueue('endurance', 1);
  await dispatch.run(ingressMessages('endurance', 1));
  const [job = ''] = await stubs.takeJobs();
  const part = deliveries / PARTS;
  const parts: { ours: Run; other: Run }[] = [];
  for (let number = 0; number < PARTS; number += 1) {
    signal.throwIfAborted();
    const ours = await deliver.run(copiesOf(job, part));
    parts.push({ ours, other: await bare.run(copiesOf(job, BESIDE)) });
  }
  const [first, last] = [parts.slice(0, ENDS), parts.slice(-ENDS)];
  const ours = (some: typeof parts, value: (run: Run) => number) =>
    median(some.map((each) => value(each.ours)));
  const cpu = (run: Run): number => run.cpuMs / part;
  const other = (some: typeof parts) => median(some.map((each) => each.other.cpuMs / BESIDE));
  const megabytes = (value: keyof Run) => (run: Run) => run[value] / 1e6;
  const middle = parts.slice(PARTS / 2, PARTS / 2 + ENDS);
  return {
    deliveries,
    growth: ours(last, cpu) / other(last) / (ours(first, cpu) / other(first)),
    firstCpuSeconds: ours(first, cpu),
    lastCpuSeconds: ours(last, cpu),
    firstBareCpuSeconds: other(first),
    lastBareCpuSeconds: other(last),
    firstHeapMegabytes: ours(first, megabytes('heapBytes')),
    lastHeapMegabytes: ours(last, megabytes('heapBytes')),
    firstResidentMegabytes: ours(first, megabytes('residentBytes')),
    lastResidentMegabytes: ours(last, megabytes('residentBytes')),
    heapBytesPerDelivery:
      (ours(last, ({ heapBytes }) => heapBytes) - ours(middle, ({ heapBytes }) => heapBytes)) /
      ((PARTS / 2 - ENDS) * part),
  };
};

/** Jobs of other messages, otherwise alike. */
const copiesOf = (job: string, count: number): string[] => {
  const [, messageId = ''] = /"messageId":"([^"]+)"/.exec(job) ?? [];
  return Array.from({ length: count }, () => job.replaceAll(messageId, randomUUID()));
};
