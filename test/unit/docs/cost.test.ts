import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { posthaste } from '../cli/run-command.ts';

/** What the groups of a pattern match in a page. */
function amountsIn(page: string, pattern: RegExp): string[] {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');
  return pattern.exec(text)?.slice(1) ?? [];
}

type Line = { what: string; usd: number };

async function planBill(...options: string[]) {
  const { stdout } = await posthaste(['plan', '--messages-per-day', '1000000', '--json', ...options]);
  return (JSON.parse(stdout) as { bill: { standing: Line[]; traffic: Line[] } }).bill;
}

const sum = (lines: readonly Line[]) => lines.reduce((total, { usd }) => total + usd, 0);

it('the README says what the plan computes for a month without traffic, and at most with it', async () => {
  const { standing, traffic } = await planBill();
  const fixed = sum(standing);
  const metrics = sum(traffic.filter(({ what }) => what === 'metrics'));

  const amounts = amountsIn(
    'README.md',
    /costs \$(\S+) a month without traffic, and at most \$(\S+) with it/,
  );
  expect(amounts).toEqual([fixed, fixed + metrics].map((usd) => `${usd.toFixed(1)}0`));
});

it('the README and the page on cost say what the plan computes for deliveries that succeed at once', async () => {
  const perMillion = async (fanOut: number, messages: number) => {
    const { traffic } = await planBill('--fan-out', `${fanOut}`, '--messages-per-batch', `${messages}`);
    return (sum(traffic) / ((365 / 12) * fanOut)).toFixed(2);
  };
  const busy = await perMillion(100, 10);
  const trickling = await perMillion(1, 1);

  expect(amountsIn('README.md', /succeed at once add \$(\S+) to \$(\d+\.\d\d)/)).toEqual([busy, trickling]);
  const row = /success at once \| +(\S+) \|[^a-z]+\| +(\S+) \|/;
  expect(amountsIn('docs/cost-and-performance.md', row)).toEqual([trickling, busy]);
});
