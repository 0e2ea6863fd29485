import { Console } from 'node:console';
import { runBench } from '../measured/command.ts';
import { measureDispatch } from './measure.ts';
import { resultText } from './result-text.ts';

// How the start of the local AWS comes along is no result: standard output is for that alone.
globalThis.console = new Console(process.stderr);

process.exitCode = await runBench(
  { name: 'dispatch', measure: measureDispatch, text: resultText },
  process.argv.slice(2),
);
