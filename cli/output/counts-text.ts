import { printable } from './printable.ts';

export function sumOf(counts: Readonly<Record<string, number>> = {}): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** `not_json 2, none 1`, the most frequent first */
export function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${printable(name)} ${count}`)
    .join(', ');
}
