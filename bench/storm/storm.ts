import { runBench } from '../harness/command.ts';
import { faultsIn, measureStorms, resultText } from './measure.ts';

process.exitCode = await runBench(
  { name: 'storm', measure: measureStorms, text: resultText, faults: faultsIn },
  process.argv.slice(2),
);
