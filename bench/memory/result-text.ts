import { tableLines, type Column } from '../../cli/output/table.ts';
import type { MemoryResult, Sized } from './measure.ts';
import type { Price } from './price.ts';
import type { FunctionUsage } from './usage.ts';

const right = (head: string): Column => ({ head, align: 'right' });

const columns: readonly Column[] = [
  right('MB'),
  { head: 'function' },
  right('CPU ms each'),
  right('most MB: usual'),
  right('large'),
  right('hostile'),
  right('ms for ten'),
  right('$ a million'),
  right('$, one at a time'),
];

const row = (name: string, { cpuMs, peaks }: FunctionUsage, ten: Price, one?: Price): string[] => [
  name,
  cpuMs.toFixed(2),
  ...['usual', 'large', 'hostile'].map((work) => peaks[work]?.toFixed(0) ?? ''),
  ten.invocationMs.toFixed(0),
  ten.usdPerMillion.toFixed(3),
  one?.usdPerMillion.toFixed(3) ?? '',
];

const rows = ({ memoryMegabytes, dispatch, deliver, prices }: Sized): string[][] => [
  [String(memoryMegabytes), ...row('dispatch', dispatch, prices.dispatch)],
  ['', ...row('deliver', deliver, prices.deliverTen, prices.deliverOne)],
];

/** The result as a person reads it. */
export const resultText = ({ sizes, subscriberMs }: MemoryResult): string =>
  [
    'Most memory of the process, its heap as Lambda has it at each size: batches of ten, fan-out 10; 1,000 bytes, 64 KB, and answers without end.',
    `Time and price of compute for ten deliveries at a time, where a subscriber takes ${subscriberMs} ms.`,
    ...tableLines(columns, sizes.flatMap(rows)),
  ].join('\n');
