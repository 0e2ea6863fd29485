import { tableLines } from '../../cli/output/table.ts';
import type { By } from './cells.ts';
import type { Quantiles } from './figures.ts';
import type { LatenessResult } from './measure.ts';

const words: Readonly<Record<By, string>> = { sqs_delay: 'SQS', scheduler: 'Scheduler' };

const quantiles = ({ p50, p95, p99 }: Quantiles): string[] =>
  [p50, p95, p99].map((milliseconds) => milliseconds.toFixed(0));

const right = (head: string) => ({ head, align: 'right' as const });

/** The result as a person reads it. */
export const resultText = ({ cells, ratios, seconds, busy }: LatenessResult): string =>
  [
    `From due to begun in ms, by the record; the bare function's from due to received. ${seconds} s, processors ${(100 * busy).toFixed(0)} % in use`,
    ...tableLines(
      [
        { head: 'by' },
        right('after s'),
        right('retries'),
        right('early'),
        right('p50'),
        right('p95'),
        right('p99'),
        right('most'),
        right('received p95'),
        right('bare p50'),
        right('bare p95'),
        right('bare p99'),
        { head: 'brought about by' },
      ],
      cells.map(({ by, delaySeconds, retries, early, late, received, bare, broughtBy }) => [
        words[by],
        String(delaySeconds),
        String(retries),
        String(early),
        ...quantiles(late),
        late.most.toFixed(0),
        received.p95.toFixed(0),
        ...quantiles(bare.received),
        Object.entries(broughtBy)
          .map(([mechanism, count]) => `${mechanism} ${count}`)
          .join(', '),
      ]),
    ),
    ...ratios.map(({ name, ratio }) => `${name}: ${ratio.toFixed(2)}`),
  ].join('\n');
