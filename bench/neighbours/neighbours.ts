import { bundledDispatch } from '../fan-out/dispatch.ts';
import { type Bench, type BenchMeans, type Length, runBench } from '../harness/command.ts';
import type { Quantiles, Ratio } from '../harness/figures.ts';
import { CONCURRENCY, type Concurrency } from '../storm/world.ts';
import { apiFaults, type ApiFigures, measureApi } from './api.ts';
import { type DeployedFigures, measureDeployed } from './deployed.ts';
import { besideList, type BesideList, crowds } from './long-lists.ts';
import { measureQuiet, type Noise } from './virtual.ts';

/** Waits of ten quiet queues beside a noisy one, in virtual ms. */
type Beside = {
  concurrency: string;
  noise: string;
  fair: Quantiles;
  'p95 by alone': number;
  'p99 by alone': number;
  /** Without groups, which make the queues of SQS fair. */
  unfair: Quantiles;
  /** Of AWS for each message of the noisy queue. */
  'calls a message': number;
};

type Figures = { ratios: readonly Ratio[]; beside: readonly Beside[]; lists: readonly BesideList[] };

const DEFAULTS = '50, 100, 50';

/** Of dispatch, and of deliver by the delivery and the retry queue: those of the local AWS (local/local-system.ts), and the defaults. */
const concurrencies: Readonly<Record<string, Concurrency>> = {
  '2, 5, 5': { dispatch: 2, deliver: 5, retry: 5 },
  [DEFAULTS]: CONCURRENCY,
};

const SECONDS = { full: 100, short: 20 };
const LIST_SECONDS = { full: 20, short: 10 };

/** Longer than any quiet message waits. */
const watchedSeconds = 20 * 60;

/** Its messages occupy functions for so long that their order does not help. */
const HANGING = 'at once, answers after 15 s';

/** 30 messages a second, or as many within one second. */
function noisesOf(seconds: number): Readonly<Record<string, Noise>> {
  const messages = 30 * seconds;
  const dead = { messages, statusCode: 500, takesMs: 20 };
  const limited = { ...dead, maxPerSecond: 5 };
  return {
    '30/s, dead and limited to 5/s': { ...limited, withinSeconds: seconds },
    'at once, dead and limited to 5/s': { ...limited, withinSeconds: 1 },
    'at once, dead': { ...dead, withinSeconds: 1 },
    'paused, then all that waited': {
      ...dead,
      statusCode: 200,
      withinSeconds: seconds / 2,
      pausedSeconds: seconds / 2,
    },
    [HANGING]: { ...dead, withinSeconds: 1, takesMs: 15_000 },
  };
}

/** The goal for quiet queues, beside a noisy one whose subscriber does not hang, with the default concurrencies. */
const MAX_BY_ALONE = 2;

/** Virtual time is the same on every machine. */
const TOLERANCE = { virtual: 0.05, deployed: 0.5 };

async function measure(length: Length, means: BenchMeans): Promise<Figures> {
  const beside = await besideNoise(length, means);
  const lists = await besideLists(length, means);
  return {
    ratios: [
      ...beside
        .filter(({ noise }) => noise !== HANGING)
        .map(({ concurrency, noise, ...line }) => ({
          name: `p95 beside ${noise} by that of quiet queues alone, at ${concurrency}`,
          ratio: line['p95 by alone'],
          tolerance: TOLERANCE.virtual,
        })),
      ...lists
        .filter(({ atOnce }) => atOnce === 1)
        .map(({ list, ...line }) => ({
          name: `p95 beside a list (${list}) by that of quiet queues alone`,
          ratio: line['p95 by alone'],
          tolerance: TOLERANCE.deployed,
        })),
    ],
    beside,
    lists,
  };
}

async function besideNoise(length: Length, { signal, say }: BenchMeans): Promise<readonly Beside[]> {
  const beside: Beside[] = [];
  for (const [name, concurrency] of Object.entries(concurrencies)) {
    const quiet = { seconds: SECONDS[length], watchedSeconds, concurrency, isFair: true };
    const alone = await measureQuiet(quiet);
    for (const [noise, sent] of Object.entries(noisesOf(SECONDS[length]))) {
      signal.throwIfAborted();
      say(`In virtual time: ${noise}, at concurrencies of ${name}`);
      const fair = await measureQuiet({ ...quiet, noise: sent });
      const unfair = await measureQuiet({ ...quiet, noise: sent, isFair: false });
      beside.push({
        concurrency: name,
        noise,
        fair: fair.waits,
        'p95 by alone': fair.waits.p95 / alone.waits.p95,
        'p99 by alone': fair.waits.p99 / alone.waits.p99,
        unfair: unfair.waits,
        'calls a message': (fair.calls - alone.calls) / sent.messages,
      });
    }
  }
  return beside;
}

async function besideLists(
  length: Length,
  { stack, signal, say }: BenchMeans,
): Promise<readonly BesideList[]> {
  const bundle = await bundledDispatch(stack);
  const lists: BesideList[] = [];
  for (const crowd of crowds(length)) {
    signal.throwIfAborted();
    say(`With dispatch as deployed, list: ${crowd.list}, messages to it at once: ${crowd.atOnce}`);
    lists.push(await besideList(bundle, LIST_SECONDS[length], crowd));
  }
  return lists;
}

/** Without lists: a busy machine delays dispatch as deployed. */
function faults({ beside }: Figures): string[] {
  return beside
    .filter(({ concurrency, noise }) => concurrency === DEFAULTS && noise !== HANGING)
    .filter((line) => line['p95 by alone'] > MAX_BY_ALONE)
    .map(({ noise, ...line }) => `Beside ${noise} quiet queues wait ${line['p95 by alone']} times as long.`);
}

const virtual: Bench<Figures> = { name: 'neighbours', measure, faults };

/** With `--deployed`: small messages beside a fan-out on the local AWS. */
const deployed: Bench<DeployedFigures> = { name: 'neighbours', measure: measureDeployed, keptIn: 'nowhere' };

/** With `--api`: holders of a token among strangers, and callers that list at once, on the local AWS. */
const api: Bench<ApiFigures> = {
  name: 'neighbours',
  measure: measureApi,
  faults: apiFaults,
  keptIn: 'nowhere',
};

const args = process.argv.slice(2);
const others = args.filter((arg) => arg !== '--deployed' && arg !== '--api');
if (args.includes('--api')) process.exitCode = await runBench(api, others);
else if (args.includes('--deployed')) process.exitCode = await runBench(deployed, others);
else process.exitCode = await runBench(virtual, others);
