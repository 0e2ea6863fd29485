import { runBench } from '../measured/command.ts';
import { measureCold } from './measure.ts';
import { resultText } from './result-text.ts';

process.exitCode = await runBench(
  { name: 'cold', measure: measureCold, text: resultText },
  process.argv.slice(2),
);
