import { runCampaign } from './campaign.ts';
import { generateScenario } from './generate-scenario.ts';
import { runScenario } from './run-scenario.ts';
import { shrink, describeFailure } from './shrink.ts';
import { faultsIn, isClean, summaryOf, type Summary } from './summary.ts';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/whole-number.ts';

/** The parsed arguments of `npm run simulate`. */
type SimulationRequest = NonNullable<ReturnType<typeof simulationRequestOf>>;

/** Parses the arguments. Undefined: they are invalid. */
const simulationRequestOf = (args: readonly string[]) => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seed: { type: 'string', default: '1' },
        faults: { type: 'string', default: '10000' },
        workers: { type: 'string', default: String(Math.min(2, availableParallelism())) },
        replay: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    });
    const seed = wholeNumber(values.seed, 0, 0xffffffff);
    const faults = wholeNumber(values.faults, 1, 1_000_000_000);
    const workers = wholeNumber(values.workers, 1, 16);
    const replay = values.replay === undefined ? undefined : wholeNumber(values.replay, 0, 0xffffffff);
    if (seed === undefined || faults === undefined || workers === undefined) return undefined;
    if (values.replay !== undefined && replay === undefined) return undefined;
    return { seed, faults, workers, json: values.json, replay };
  } catch {
    // parseArgs throws for unknown arguments; the usage line lists the known ones.
    return undefined;
  }
};

const USAGE =
  'usage: npm run simulate -- --seed N (0 to 4294967295) --faults F (1 to 1000000000) [--workers 1..16] [--json], or --replay SEED for one scenario';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const showProgress = ({ faults }: SimulationRequest): ((summary: Summary) => void) => {
  if (!process.stderr.isTTY) return () => undefined;
  return (summary) =>
    void process.stderr.write(`\r${summary.scenarios} scenarios, ${faultsIn(summary)} of ${faults} faults`);
};

const explain = async (seeds: readonly number[]): Promise<void> => {
  const [first] = seeds;
  if (first === undefined) return;
  say(`${seeds.length} scenarios failed: ${seeds.slice(0, 20).join(' ')}`);
  for (const line of describeFailure(await shrink(generateScenario(first)))) say(line);
};

const print = (seed: number, summary: Summary, json: boolean): void => {
  process.stdout.write(`${JSON.stringify({ seed, ...summary }, undefined, json ? undefined : 2)}\n`);
};

const replay = async (seed: number, json: boolean): Promise<boolean> => {
  const summary = summaryOf(await runScenario(generateScenario(seed)));
  print(seed, summary, json);
  if (!isClean(summary)) await explain([seed]);
  return isClean(summary);
};

const simulate = async (request: SimulationRequest): Promise<boolean> => {
  if (request.replay !== undefined) return await replay(request.replay, request.json);
  const { summary, failedSeeds } = await runCampaign({ ...request, progress: showProgress(request) });
  if (process.stderr.isTTY) say('');
  await explain(failedSeeds);
  print(request.seed, summary, request.json);
  return isClean(summary);
};

const request = simulationRequestOf(process.argv.slice(2));
if (request === undefined) {
  say(USAGE);
  process.exitCode = 2;
} else {
  process.exitCode = (await simulate(request)) ? 0 : 1;
}
