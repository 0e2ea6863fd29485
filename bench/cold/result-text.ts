import { tableLines, type Column } from '../../cli/output/table.ts';
import type { ColdFunction, ColdResult } from './measure.ts';

const right = (head: string): Column => ({ head, align: 'right' });

const columns: readonly Column[] = [
  { head: 'function' },
  right('KB at a start'),
  right('KB in all'),
  right('load, CPU ms'),
  right('first, CPU ms'),
  right('both, wall ms'),
  right('ratio'),
];

const row = (
  name: string,
  { bundleBytes, wholeBytes, load, first }: ColdFunction['ours'],
  ratio: string,
): string[] => [
  name,
  (bundleBytes / 1000).toFixed(0),
  (wholeBytes / 1000).toFixed(0),
  load.cpuMs.toFixed(0),
  first.cpuMs.toFixed(0),
  (load.wallMs + first.wallMs).toFixed(0),
  ratio,
];

/** The result as a person reads it. */
export const resultText = ({ rounds, functions }: ColdResult): string =>
  [
    `Cold starts, each in a process of its own: medians of ${rounds}.`,
    'Bare: the same calls by the SDK alone, as it comes. Limit: the same in a bundle made as ours are.',
    ...tableLines(
      columns,
      functions.flatMap(({ function: name, ours, bare, limit, ratio, ratioToLimit }) => [
        row(name, ours, ''),
        row('  by bare', bare, ratio.toFixed(2)),
        row('  by limit', limit, ratioToLimit.toFixed(2)),
      ]),
    ),
  ].join('\n');
