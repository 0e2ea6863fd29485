import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/time-text.ts';
import type { Terminal } from '../../terminal.ts';
import type { Forwarded } from './forward-deliveries.ts';

/** Rows appear one by one, so the columns have the width of usual contents; the last has what is left. */
const WIDTHS = [19, 36, -7, -9, -8] as const;

export const HEAD = line(['Time', 'Message', 'Attempt', 'Duration', 'Interval', 'Status']);

/** A row of the table. */
export function forwardedText(forwarded: Forwarded, { styled }: Pick<Terminal, 'styled'>): string {
  const { at, messageId, attempt, durationMs, interval, outcome } = forwarded;
  return line([
    clockTime(at),
    printable(messageId),
    String(attempt),
    `${durationMs} ms`,
    `${Number(interval.toFixed(1))} s`,
    styled(outcome === 'acked' ? 'green' : 'red', statusText(forwarded)),
  ]);
}

function statusText({ status, error = '', notRecorded }: Forwarded): string {
  const answered = status === undefined ? printable(error) : String(status);
  return notRecorded === undefined ? answered : `${answered}; not recorded: ${printable(notRecorded)}`;
}

/** A negative width aligns right. */
function line(cells: readonly string[]): string {
  return cells
    .map((cell, index) => {
      const width = WIDTHS[index] ?? 0;
      return width < 0 ? cell.padStart(-width) : cell.padEnd(width);
    })
    .join('  ');
}
