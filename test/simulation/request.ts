import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/whole-number.ts';

/** What `npm run simulate` is asked for. */
export type SimulationRequest = {
  seed: number;
  faults: number;
  workers: number;
  json: boolean;
  replay: number | undefined;
};

/** Undefined: not to be understood. */
export const simulationRequestOf = (args: readonly string[]): SimulationRequest | undefined => {
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
    // parseArgs throws for what it does not know; the usage line says what it does.
    return undefined;
  }
};
