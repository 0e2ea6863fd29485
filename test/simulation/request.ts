import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/whole-number.ts';

/** The parsed arguments of `npm run simulate`. */
export type SimulationRequest = NonNullable<ReturnType<typeof simulationRequestOf>>;

/** Parses the arguments. Undefined: they are invalid. */
export const simulationRequestOf = (args: readonly string[]) => {
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
