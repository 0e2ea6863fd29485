import { runBench } from '../measured/command.ts';
import { measureMemory } from './measure.ts';
import { resultText } from './result-text.ts';

process.exitCode = await runBench(
  { name: 'memory', measure: measureMemory, text: resultText },
  process.argv.slice(2),
);
