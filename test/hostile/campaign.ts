import { inParallel } from '../../shared/adapters/in-parallel.ts';
import { bounds } from './bounds.ts';
import { kindNames } from './kinds/all-kinds.ts';
import { measureKinds } from './measure-kinds.ts';
import { model } from './modelled-pipeline.ts';
import { neighbours, runNeighbours, type NeighboursResult } from './neighbours.ts';
import { startReceivers, type Processes } from './run.ts';

export type HostileRequest = { seed: number; attemptTimeoutMs: number };

/** `slowdown`: the p99 as a multiple of the control run; `atMost`: its limit. */
export type NeighbourRun = NeighboursResult & { slowdown: number; atMost: number };

type Say = (line: string) => void;

/** Measures every kind alone, then some of each kind beside healthy deliveries. */
export const runHostile = async (request: HostileRequest, say: Say, signal: AbortSignal) => {
  const startedAt = performance.now();
  await using stack = new AsyncDisposableStack();
  const processes = { stack, signal };
  const kinds = await everyKind(processes, request, say);
  const { beside, broken } = await besideHealthyDeliveries(processes, request, say);
  return {
    /** `memory`: the peak in bytes beyond the idle memory of the function. */
    kinds: kinds.map(({ result }) => result),
    model: { ...model, kinds: neighbours },
    beside,
    /** The violated limits, one sentence each. */
    broken: [...kinds.flatMap((kind) => kind.broken), ...broken],
    seconds: Math.round((performance.now() - startedAt) / 1000),
  };
};

export type HostileResult = Awaited<ReturnType<typeof runHostile>>;

/** More at once would slow each other down. */
const CONCURRENT_KINDS = 4;

const everyKind = async (processes: Processes, { attemptTimeoutMs }: HostileRequest, say: Say) => {
  say(`${kindNames.length} kinds of hostile receiver, ten or twenty deliveries to each, ten at once.`);
  const receivers = await startReceivers(processes, kindNames);
  const measured = await inParallel(kindNames, CONCURRENT_KINDS, async (name) => {
    const { kinds, memory, broken } = await measureKinds(processes, receivers, {
      names: [name],
      attemptTimeoutMs,
    });
    for (const what of broken) say(what);
    return kinds.map((kind) => ({ result: { ...kind, memory }, broken }));
  });
  return measured.flat();
};

const besideHealthyDeliveries = async (processes: Processes, request: HostileRequest, say: Say) => {
  const beside: NeighbourRun[] = [];
  for (const { ofEach, atMost } of bounds.slowdowns) {
    say(
      `${model.healthyDeliveries} healthy deliveries beside ${ofEach} of each of ${neighbours.length} kinds.`,
    );
    // Fresh processes for each run, because those of the last run may still be busy.
    await using stack = processes.stack.use(new AsyncDisposableStack());
    const own = { ...processes, stack };
    const result = await runNeighbours(own, await startReceivers(own, neighbours), { ...request, ofEach });
    beside.push({ ...result, slowdown: result.beside.done.p99 / result.control.done.p99, atMost });
  }
  return { beside, broken: beside.flatMap(brokenBy) };
};

const brokenBy = ({ ofEach, broken, slowdown, atMost }: NeighbourRun): string[] => {
  const where = `Beside ${ofEach} of each`;
  return [
    ...broken.map((what) => `${where}: ${what}`),
    ...(slowdown <= atMost ? [] : [`${where}: a p99 ${slowdown.toFixed(2)} times that of the control run`]),
  ];
};
