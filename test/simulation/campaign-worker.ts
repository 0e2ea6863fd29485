import { parentPort } from 'node:worker_threads';
import { CHUNK, seedOf, type ChunkDone } from './campaign.ts';
import { generateScenario } from './generate-scenario.ts';
import { runScenario } from './run-scenario.ts';
import { summaryOf, type Summary } from './summary.ts';

parentPort?.on('message', ({ seed, chunk }: { seed: number; chunk: number }) => {
  void run(seed, chunk);
});

const run = async (seed: number, chunk: number): Promise<void> => {
  const summaries: Summary[] = [];
  for (let index = chunk * CHUNK; index < (chunk + 1) * CHUNK; index += 1)
    summaries.push(summaryOf(await runScenario(generateScenario(seedOf(seed, index)))));
  parentPort?.postMessage({ chunk, summaries } satisfies ChunkDone);
};
