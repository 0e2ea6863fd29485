import { Console } from 'node:console';
import { runBench } from '../harness/command.ts';
import { faultsOf, measureLateness, resultText } from './measure.ts';

// How the start comes along is no result: standard output is for that alone.
globalThis.console = new Console(process.stderr);

process.exitCode = await runBench(
  { name: 'lateness', measure: measureLateness, text: resultText, faults: faultsOf },
  process.argv.slice(2),
);
