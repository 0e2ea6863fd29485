import { Console } from 'node:console';
import { runBench } from '../measured/command.ts';
import { faultsOf, measureLateness } from './measure.ts';
import { resultText } from './result-text.ts';

// How the start comes along is no result: standard output is for that alone.
globalThis.console = new Console(process.stderr);

process.exitCode = await runBench(
  { name: 'lateness', measure: measureLateness, text: resultText, faults: faultsOf },
  process.argv.slice(2),
);
