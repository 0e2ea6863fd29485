import { tableLines } from '../../cli/output/table.ts';
import type { DispatchResult } from './measure.ts';

/** The result as a person reads it. */
export const resultText = ({ fanOuts }: DispatchResult): string =>
  [
    'By a subscriber; a message at its slowest',
    ...tableLines(
      [
        { head: 'fan-out', align: 'right' },
        { head: 'µs of processor', align: 'right' },
        { head: 'calls', align: 'right' },
        { head: 'KB allocated', align: 'right' },
        { head: 's a message', align: 'right' },
        { head: 'µs on twins', align: 'right' },
        { head: 's a message on twins', align: 'right' },
      ],
      fanOuts.map(({ fanOut, cpuMicroseconds, calls, allocatedKilobytes, messageSeconds, twins }) => [
        String(fanOut),
        cpuMicroseconds.toFixed(0),
        calls.toFixed(3),
        allocatedKilobytes.toFixed(0),
        messageSeconds.toFixed(2),
        twins.cpuMicroseconds.toFixed(1),
        twins.messageSeconds.toFixed(3),
      ]),
    ),
  ].join('\n');
