import { type BenchMeans, type Length, runBench } from '../harness/command.ts';
import { sumOf } from '../harness/figures.ts';
import { measureToHostile, type ToHostile, measureOnStub, type OnStub } from './on-stub.ts';
import { measureOnLocalAws, type OnLocalAws } from './on-local-aws.ts';
import { nodeOptionsOfImage } from './processes.ts';
import { measureSizes, type Size } from './sizes.ts';

/** A worker beside the functions, alone, and with less of a processor: speed, what limits it, and its memory. */
type Figures = {
  nodeOptions: string;
  /** With AWS on the same machine, which takes most of its processors. */
  functionsOnLocalAws: OnLocalAws;
  workerOnLocalAws: OnLocalAws;
  workerAlone: Omit<OnStub, 'memory'>;
  memory: OnStub['memory'];
  sizes: readonly Size[];
  toHostile: ToHostile;
  conclusions: readonly string[];
};

const lengths = {
  full: {
    local: { rounds: 5, deliveries: 1_000 },
    alone: { rounds: 20, deliveries: 5_000 },
    tasks: { rounds: 5, deliveries: 3_000, seconds: 30 },
    hostile: 10,
  },
  short: {
    local: { rounds: 1, deliveries: 300 },
    alone: { rounds: 3, deliveries: 1_000 },
    tasks: { rounds: 1, deliveries: 300, seconds: 3 },
    hostile: 1,
  },
} as const;

async function measure(length: Length, means: BenchMeans): Promise<Figures> {
  const { local, alone, tasks, hostile } = lengths[length];
  const { say } = means;
  say('Functions on the local AWS');
  const functionsOnLocalAws = await measureOnLocalAws({ compute: 'lambda', ...local }, means);
  say('A worker on the local AWS');
  const workerOnLocalAws = await measureOnLocalAws({ compute: 'worker', ...local }, means);
  say('A worker on a stub of AWS');
  const { memory, ...workerAlone } = await measureOnStub(alone, means);
  say('A worker with the processor of Fargate tasks');
  const sizes = await measureSizes(tasks, means);
  say('A worker with hostile receivers');
  const toHostile = await measureToHostile(hostile, means);
  const measured = { functionsOnLocalAws, workerOnLocalAws, workerAlone };
  return {
    nodeOptions: nodeOptionsOfImage(),
    ...measured,
    memory,
    sizes,
    toHostile,
    conclusions: conclusionsFrom(measured),
  };
}

type Measured = Pick<Figures, 'functionsOnLocalAws' | 'workerOnLocalAws' | 'workerAlone'>;

/** By processor time, which other work on the machine disturbs less than rates. */
function conclusionsFrom({ functionsOnLocalAws, workerOnLocalAws, workerAlone }: Measured): string[] {
  const [functions, worker] = [functionsOnLocalAws, workerOnLocalAws].map(({ cpuSeconds }) =>
    sumOf(Object.values(cpuSeconds), (seconds) => seconds),
  );
  const { localAws } = workerOnLocalAws.cpuSeconds;
  const alone = workerAlone.cpuSeconds;
  return [
    `1,000 deliveries take ${inTenths(functions)} s of processor by functions on the local AWS, and ${inTenths(worker)} s by a worker on it.`,
    `The local AWS takes ${inTenths(localAws)} s of these, in one process: a worker cannot deliver more than ${Math.round(1000 / localAws)} a second there.`,
    `A worker takes ${inTenths(alone)} s. With AWS elsewhere, workers on two processors have time for ${Math.round(2000 / alone)} a second: ${inTenths((functions ?? 0) / alone)} times what functions and the local AWS have on them.`,
  ];
}

function inTenths(value = Number.NaN): string {
  return value.toFixed(1);
}

process.exitCode = await runBench({ name: 'worker', measure, keptIn: 'nowhere' }, process.argv.slice(2));
