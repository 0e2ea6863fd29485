import { tableLines } from '../../cli/output/table.ts';
import type { DispatchResult } from './measure.ts';

/** The result as a person reads it. */
export const resultText = ({ fanOuts, deployed }: DispatchResult): string =>
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
    '',
    'On the local AWS: a message, delivered to all; calls by a subscriber',
    ...tableLines(
      [
        { head: 'fan-out', align: 'right' },
        { head: 'ms of dispatch', align: 'right' },
        { head: 'ms of processor', align: 'right' },
        { head: 'its calls', align: 'right' },
        { head: 'calls of deliver', align: 'right' },
        { head: 's to the last', align: 'right' },
      ],
      deployed.map(({ fanOut, dispatchMs, dispatchCpuMs, dispatchCalls, deliverCalls, seconds }) => [
        String(fanOut),
        dispatchMs.toFixed(0),
        dispatchCpuMs.toFixed(0),
        dispatchCalls.toFixed(3),
        deliverCalls.toFixed(3),
        seconds.toFixed(1),
      ]),
    ),
  ].join('\n');
