import { counters } from '../../cli/commands/plan/tables.ts';

/** What a run is counted by: the counters of the plan's table, and two that only lead to it. */
const counted = [...counters, 'chunkWrites', 'firstRecords'] as const;

export type Counter = (typeof counted)[number];
export type Units = Readonly<Partial<Record<Counter, number>>>;

export function countOf(units: Units, counter: Counter): number {
  return units[counter] ?? 0;
}

export function sum(...parts: readonly Units[]): Units {
  return each((counter) => parts.reduce((total, part) => total + countOf(part, counter), 0));
}

export function times(units: Units, factor: number): Units {
  return each((counter) => countOf(units, counter) * factor);
}

export function difference(whole: Units, part: Units): Units {
  return each((counter) => countOf(whole, counter) - countOf(part, counter));
}

/** Differences that are small beside the noise of the machine must not be negative before they are multiplied. */
export function atLeastZero(units: Units): Units {
  return each((counter) => Math.max(0, countOf(units, counter)));
}

/** For the table: its counters alone, without zeros, in thousandths. */
export function rounded(units: Units): Units {
  const values: Partial<Record<Counter, number>> = {};
  for (const counter of counters) {
    const value = Math.round(countOf(units, counter) * 1000) / 1000;
    if (value !== 0) values[counter] = value;
  }
  return values;
}

function each(value: (counter: Counter) => number): Units {
  const units: Partial<Record<Counter, number>> = {};
  for (const counter of counted) units[counter] = value(counter);
  return units;
}
