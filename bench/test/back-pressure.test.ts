import { describe, expect, it } from 'vitest';
import { faultsOfOutage } from '../back-pressure/deployed.ts';
import { faultsIn, INSTANCES, measureRow, ROWS } from '../back-pressure/rows.ts';
import { pageOf } from '../back-pressure/table.ts';

describe('back-pressure in virtual time', () => {
  it.each(['1 % random 429', '20 % random 503', 'down', 'token bucket of 5/s'])(
    'loses nothing: %s',
    async (name) => {
      const rows = ROWS.filter((row) => row.name === name);
      const [row] = rows;
      if (row === undefined) expect.fail(name);
      const cells = await measureRow(row, 0.1);
      expect(faultsIn(cells)).toEqual([]);
      expect(cells.filter(({ isReached }) => !isReached)).toHaveLength(row.goal.kind === 'throttled' ? 3 : 0);
      expect(pageOf(rows, cells, INSTANCES)).toContain(`| ${name} |`);
    },
  );
});

describe('the bench of back-pressure reports', () => {
  it('lost deliveries and too many writes', () => {
    const cell = { row: 'r', instances: 1, figure: '', isReached: true, mostWrites: 50, lost: 0 };
    expect(faultsIn([cell])).toEqual([]);
    expect(faultsIn([{ ...cell, lost: 1, mostWrites: 51 }])).toHaveLength(2);
  });

  it('exhausted and lost deliveries of a deployed outage', () => {
    const outage = {
      messages: 10,
      minutes: 1,
      requestsDuring: 1,
      firstSuccess: 1,
      drained: 1,
      exhausted: 0,
      lost: 0,
      duplicates: 0,
      steps: [],
    };
    expect(faultsOfOutage(outage)).toEqual([]);
    expect(faultsOfOutage({ ...outage, exhausted: 1, lost: 1 })).toHaveLength(2);
  });
});
