import { tableLines, type Column } from '../../cli/output/table.ts';
import type { Spread } from '../measured/figures.ts';
import type { Comparison, Cost } from './compare.ts';
import type { DeliverResult } from './measure.ts';

const spread = ({ median, least, most }: Spread): string =>
  `${median.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;

const callsOf = ({ calls }: Cost): string =>
  Object.entries(calls)
    .filter(([, count]) => count >= 0.01)
    .map(([name, count]) => `${count.toFixed(2)} ${name}`)
    .join(', ');

const columns: readonly Column[] = [
  { head: 'program' },
  { head: 's of processor per 1,000', align: 'right' },
  { head: 'KB allocated each', align: 'right' },
  { head: 'calls each' },
];

const row = (program: string, cost: Cost): string[] => [
  program,
  spread(cost.cpuSeconds),
  cost.allocatedKilobytes.toFixed(0),
  callsOf(cost),
];

const comparisonText = (comparison: Comparison): string =>
  [
    `Fan-out ${comparison.fanOut}: ${comparison.rounds} rounds of ${comparison.deliveriesInRound} deliveries, the median (the least to the most)`,
    ...tableLines(columns, [
      row('dispatch', comparison.dispatch),
      row('deliver', comparison.deliver),
      row('bare: the same calls and POST', comparison.bare),
      row('bare: the POST alone', comparison.post),
    ]),
    `deliver by bare ${spread(comparison.ratio)}; dispatch and deliver ${comparison.bothCpuSeconds.toFixed(2)} s per 1,000; log ${comparison.logBytes.toFixed(0)} bytes each`,
  ].join('\n');

/** The result as a person reads it. */
export const resultText = ({ fanOuts, endurance }: DeliverResult): string =>
  [
    ...fanOuts.map(comparisonText),
    [
      `${endurance.deliveries} deliveries, the first fifth and the last:`,
      `s of processor per 1,000: ${endurance.firstCpuSeconds.toFixed(2)}, ${endurance.lastCpuSeconds.toFixed(2)} (bare beside it ${endurance.firstBareCpuSeconds.toFixed(2)}, ${endurance.lastBareCpuSeconds.toFixed(2)})`,
      `heap in MB: ${endurance.firstHeapMegabytes.toFixed(1)}, ${endurance.lastHeapMegabytes.toFixed(1)}, in the second half ${endurance.heapBytesPerDelivery.toFixed(1)} bytes more each`,
      `resident in MB: ${endurance.firstResidentMegabytes.toFixed(0)}, ${endurance.lastResidentMegabytes.toFixed(0)}`,
    ].join('\n'),
  ].join('\n\n');
