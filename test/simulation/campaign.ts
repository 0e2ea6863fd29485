import { Worker } from 'node:worker_threads';
import { addSummaries, emptySummary, faultsIn, isClean, type Summary } from './summary.ts';

/** How many scenarios a worker runs per request. What it has begun is lost at the end of the campaign. */
export const CHUNK = 10;

/** Bounds a worker's memory, so that a leak between scenarios fails here. */
const WORKER_MEMORY = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 32 };

/** The summaries of a chunk, one per scenario, in order. */
export type ChunkDone = { chunk: number; summaries: readonly Summary[] };

export type Campaign = {
  seed: number;
  /** How many faults to inject in total. */
  faults: number;
  workers: number;
  progress: (summary: Summary) => void;
};

export type CampaignResult = { summary: Summary; failedSeeds: readonly number[] };

/** The seed of scenario `index` of a campaign, independent of the worker. */
export const seedOf = (seed: number, index: number): number => (seed + Math.imul(index, 0x9e3779b1)) >>> 0;

/**
 * Runs scenarios until `faults` faults are injected. Results are added in scenario order and those beyond the end are
 * dropped, so the sum does not depend on the number of workers.
 */
export const runCampaign = async (campaign: Campaign): Promise<CampaignResult> => {
  const workers = Array.from(
    { length: campaign.workers },
    () => new Worker(new URL('./campaign-worker.ts', import.meta.url), { resourceLimits: WORKER_MEMORY }),
  );
  try {
    return await collect(campaign, workers);
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
};

const collect = (campaign: Campaign, workers: readonly Worker[]): Promise<CampaignResult> =>
  new Promise((resolve, reject) => {
    const done = new Map<number, readonly Summary[]>();
    const failedSeeds: number[] = [];
    let summary = emptySummary();
    let handedOut = 0;
    let counted = 0;

    const addUp = (): boolean => {
      for (let next = done.get(counted); next !== undefined; next = done.get(counted)) {
        done.delete(counted);
        for (const [index, one] of next.entries()) {
          summary = addSummaries(summary, one);
          if (!isClean(one)) failedSeeds.push(seedOf(campaign.seed, counted * CHUNK + index));
          if (faultsIn(summary) >= campaign.faults) return true;
        }
        counted += 1;
      }
      return false;
    };

    const handOut = (worker: Worker): void => {
      worker.postMessage({ seed: campaign.seed, chunk: handedOut });
      handedOut += 1;
    };

    for (const worker of workers) {
      worker.on('error', reject);
      worker.on('message', ({ chunk, summaries }: ChunkDone) => {
        done.set(chunk, summaries);
        if (addUp()) resolve({ summary, failedSeeds });
        else handOut(worker);
        campaign.progress(summary);
      });
      handOut(worker);
    }
  });
