import { runBench } from '../measured/command.ts';
import { measureDeliver } from './measure.ts';
import { resultText } from './result-text.ts';

process.exitCode = await runBench(
  { name: 'deliver', measure: measureDeliver, text: resultText },
  process.argv.slice(2),
);
