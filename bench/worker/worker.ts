import { type BenchMeans, type Length, runBench } from '../harness/command.ts';
import { measureToHostile, type ToHostile } from './to-hostile.ts';
import { measureOnLocalAws, type OnLocalAws } from './on-local-aws.ts';
import { measureOnStub, type OnStub } from './on-stub.ts';
import { nodeOptionsOfImage } from './processes.ts';

/** A worker beside the functions, and alone: speed, what limits it, and memory over many deliveries. */
type Figures = {
  nodeOptions: string;
  /** With AWS on the same machine, which takes most of its processors. */
  functionsOnLocalAws: OnLocalAws;
  workerOnLocalAws: OnLocalAws;
  workerAlone: Omit<OnStub, 'memory'>;
  memory: OnStub['memory'];
  toHostile: ToHostile;
  conclusions: readonly string[];
};

const lengths = {
  full: { local: { rounds: 5, deliveries: 1_000 }, alone: { rounds: 20, deliveries: 5_000 }, hostile: 10 },
  short: { local: { rounds: 1, deliveries: 300 }, alone: { rounds: 3, deliveries: 1_000 }, hostile: 1 },
} as const;

async function measure(length: Length, means: BenchMeans): Promise<Figures> {
  const { local, alone, hostile } = lengths[length];
  const { say } = means;
  say('Functions on the local AWS');
  const functionsOnLocalAws = await measureOnLocalAws({ compute: 'lambda', ...local }, means);
  say('A worker on the local AWS');
  const workerOnLocalAws = await measureOnLocalAws({ compute: 'worker', ...local }, means);
  say('A worker on a stub of AWS');
  const { memory, ...workerAlone } = await measureOnStub(alone, means);
  say('A worker with hostile receivers');
  const toHostile = await measureToHostile(hostile, means);
  const measured = { functionsOnLocalAws, workerOnLocalAws, workerAlone };
  return {
    nodeOptions: nodeOptionsOfImage(),
    ...measured,
    memory,
    toHostile,
    conclusions: conclusionsFrom(measured),
  };
}

type Measured = Pick<Figures, 'functionsOnLocalAws' | 'workerOnLocalAws' | 'workerAlone'>;

function conclusionsFrom({ functionsOnLocalAws, workerOnLocalAws, workerAlone }: Measured): string[] {
  const byFunctions = (perSecond: number): string => (perSecond / functionsOnLocalAws.perSecond).toFixed(1);
  const { localAws } = workerOnLocalAws.cpuSeconds;
  return [
    `On the local AWS a worker delivers ${byFunctions(workerOnLocalAws.perSecond)} times what the functions do.`,
    `The local AWS needs ${localAws.toFixed(1)} s of its processor for 1,000 deliveries of a worker: a worker that needs no time would deliver ${byFunctions(1000 / localAws)} times as much.`,
    `With AWS elsewhere, one process delivers ${byFunctions(workerAlone.perSecond)} times as much; two processors have time for ${byFunctions(2000 / workerAlone.cpuSeconds)} times.`,
  ];
}

process.exitCode = await runBench({ name: 'worker', measure, keptIn: 'nowhere' }, process.argv.slice(2));
