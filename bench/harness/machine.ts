import { availableParallelism, cpus, totalmem } from 'node:os';
import { Problem } from '../../local/install/problem.mjs';

export type Machine = { cpus: number; model: string; node: string; memoryGigabytes: number };

/** What a figure was measured on. */
export const machine = (): Machine => {
  const [first] = cpus();
  return {
    cpus: cpus().length,
    model: first?.model ?? 'unknown',
    node: process.version,
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
  };
};

/** The function's; one beside it for what it talks to, which would else be in its way. */
const PROCESSORS = 2;

const GIGABYTE = 2 ** 30;

/** @throws Problem on a machine whose figures would say nothing */
export const demandMachine = ({ memoryGigabytes = 1 } = {}): void => {
  if (!process.version.startsWith('v24.'))
    throw new Problem(`This is Node ${process.version}; functions run on Node 24. Start it by npm run.`);
  if (availableParallelism() < PROCESSORS)
    throw new Problem(`This needs ${PROCESSORS} processors to measure one.`);
  if (process.availableMemory() < memoryGigabytes * GIGABYTE)
    throw new Problem(`This needs ${memoryGigabytes} GB of memory that is not in use. Nothing was measured.`);
};
