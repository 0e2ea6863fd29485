import { tableLines } from '../../cli/output/table.ts';
import type { Drain, Waits } from './figures.ts';
import type { StormResult } from './measure.ts';

/** The result as a person reads it. */
export const resultText = ({ virtual, deployed }: StormResult): string =>
  [
    'Retries that are due at once, in seconds from when the first of them is',
    ...tableLines(
      [
        { head: '' },
        { head: 'retries', align: 'right' },
        { head: 'due within', align: 'right' },
        { head: 'rate/s', align: 'right' },
        { head: 'drained', align: 'right' },
        { head: 'at that rate', align: 'right' },
        { head: 'most/s in 1 s', align: 'right' },
        { head: 'in 10 s', align: 'right' },
        { head: 'lost', align: 'right' },
        { head: 'early', align: 'right' },
      ],
      [...virtual, { name: 'local AWS', ...deployed }].map(({ name, drain, broken }) => [
        name,
        ...drainCells(drain),
        String(broken.lost),
        String(broken.early),
      ]),
    ),
    '',
    'Schedules; most within a second',
    ...tableLines(
      [
        { head: '' },
        { head: 'asked for', align: 'right' },
        { head: 'most', align: 'right' },
        { head: 'throttled', align: 'right' },
        { head: 'made', align: 'right' },
        { head: 'most', align: 'right' },
        { head: 'fired, most', align: 'right' },
        { head: 'sent by SQS', align: 'right' },
        { head: 'reconciled', align: 'right' },
      ],
      virtual.map(({ name, schedules, hops, reconciled }) => [
        name,
        String(schedules.asked),
        String(schedules.mostAsked),
        String(schedules.throttled),
        String(schedules.made),
        String(schedules.mostMade),
        String(schedules.mostInvoked),
        String(hops),
        String(reconciled),
      ]),
    ),
    `On the local AWS ${deployed.schedules.asked} were asked for, ${deployed.schedules.mostAsked} within a second, and ${deployed.schedules.fired} fired.`,
    '',
    "First attempts of others, in milliseconds from a message's being sent",
    ...tableLines(
      [
        { head: '' },
        { head: 'in the storm', align: 'right' },
        { head: 'p50', align: 'right' },
        { head: 'p99', align: 'right' },
        { head: 'without', align: 'right' },
        { head: 'p50', align: 'right' },
        { head: 'p99', align: 'right' },
      ],
      [...virtual, { name: 'local AWS', ...deployed }].map(({ name, waits }) => [
        name,
        ...waitCells(waits.storm),
        ...waitCells(waits.calm),
      ]),
    ),
  ].join('\n');

const drainCells = (drain: Drain): string[] => [
  String(drain.retries),
  drain.dueWithin.toFixed(1),
  drain.perSecond.toFixed(0),
  drain.seconds.toFixed(1),
  drain.idealSeconds.toFixed(1),
  String(drain.mostInOneSecond),
  drain.mostInTenSeconds.toFixed(0),
];

const waitCells = ({ messages, p50, p99 }: Waits): string[] => [
  String(messages),
  p50.toFixed(0),
  p99.toFixed(0),
];
