import { runBench } from '../measured/command.ts';
import { measureDispatch } from './measure.ts';
import { resultText } from './result-text.ts';

process.exitCode = await runBench(
  { name: 'dispatch', measure: measureDispatch, text: resultText },
  process.argv.slice(2),
);
