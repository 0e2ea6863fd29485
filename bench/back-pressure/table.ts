import type { Cell, Row } from './rows.ts';

/** All cells as a page of the docs. */
export function pageOf(rows: readonly Row[], cells: readonly Cell[], instances: readonly number[]): string {
  const line = (row: Row): string => {
    const own = cells.filter((cell) => cell.row === row.name);
    const figures = own.map(({ figure, isReached }) => (isReached ? figure : `**${figure}**`));
    return `| ${[row.name, row.plan, ...figures].join(' | ')} |`;
  };
  const most = Math.max(...cells.map(({ mostWrites }) => mostWrites));
  return [
    '# What back-pressure does to subscribers',
    '',
    'Both switches on, beside both off, in virtual time (`npm run bench:back-pressure` writes this page). Columns: function instances, each with',
    'batches of up to ten. Goals: subscribers that answer get at least 99 % of what they get without, flapping ones 95 %; throttling ones refuse',
    'at most 10 % and get 85 % of their rate; an outage has at most 5 % of the requests that ten instances make without, and all is delivered',
    '120 s after it. **Bold** misses its goal. ' +
      `Most additions to the common counts of a subscription in any second: ${most}.`,
    '',
    `| subscriber | messages, policy; when measured | ${instances.map((count) => `${count}`).join(' | ')} |`,
    `| --- | --- | ${instances.map(() => '---').join(' | ')} |`,
    ...rows.map(line),
    '',
    '- A subscriber that allows five requests a second refuses some thousand in the first fifteen seconds, while the instances begin to count.',
    '  After that it refuses about 8 %.',
    '- One instance has ten requests in flight: it is the limit of what it can drain, and of what it sends while connections hang.',
    '',
  ].join('\n');
}
