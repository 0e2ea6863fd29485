import { describe, expect, it } from 'vitest';
import { ID, SUBSCRIPTIONS } from './delivery-views.ts';
import { jsonLines } from './run-command.ts';
import { json, stubApi } from './stub-api.ts';

describe('posthaste books', () => {
  const window = { since: '2026-01-01T00:00:00.000Z', until: '2026-01-02T00:00:00.000Z' };
  const books = (delivered: number) => ({
    accepted: 10,
    duplicates: 1,
    matched: 12,
    unmatched: 2,
    unfinished: 0,
    filtered: 3,
    delivered,
    rejected: 1,
    exhausted: 1,
    cancelled: 1,
    pending: 1,
  });
  const answers = (...delivered: number[]) =>
    stubApi({
      ...SUBSCRIPTIONS,
      'GET /v2/queues/orders/books': ({ path }) => {
        const index = Number(new URL(path, 'http://api').searchParams.get('marker') ?? 0);
        const href = `/v2/queues/orders/books?marker=${index + 1}`;
        const links = index + 1 < delivered.length ? [{ rel: 'next', href }] : [];
        return json({
          queue: 'orders',
          ...window,
          books: books(delivered[index] ?? 0),
          balances: true,
          ...(links.length > 0 && { countedUntil: '2026-01-01T12:00:00.000Z' }),
          links,
        });
      },
    });
  const args = ['books', 'orders', '--since', window.since, '--until', window.until];

  it('adds up the pages', async () => {
    const { status, stdout } = await (await answers(8, 8)).run([...args, '--json']);
    expect(status).toBe(0);
    expect(jsonLines(stdout)).toMatchObject([
      {
        queue: 'orders',
        ...window,
        books: { accepted: 20, matched: 24, delivered: 16, pending: 2 },
        balances: true,
      },
    ]);
  });

  it('shows the sums so far while it adds up the pages', async () => {
    const { stderr } = await (
      await answers(8, 8)
    ).run(args, {
      onStart: ({ stdin, stderr: output }) => {
        Object.assign(output, { isTTY: true });
        stdin.end();
      },
    });
    expect(stderr).toContain(
      '[###############---------------]  50%  10 messages counted, 8 delivered, 1 rejected, 1 exhausted, 1 cancelled, 1 pending',
    );
    expect(stderr).toContain('20 messages counted, 16 delivered');
  });

  it('reports on one subscription', async () => {
    const api = await answers(8);
    const { status, stdout } = await api.run([...args, '--subscription', 'ACME', '--json']);
    expect(status).toBe(0);
    expect(jsonLines(stdout)).toMatchObject([{ queue: 'orders', subscription: ID, balances: true }]);
    const { searchParams } = new URL(api.requests.at(-1)?.path ?? '', 'http://api');
    expect(searchParams.get('subscription')).toBe(ID);
  });

  it('fails if the sums do not balance, even if each page claims to', async () => {
    const { status, stdout } = await (await answers(8, 7)).run(args);
    expect(status).toBe(1);
    expect(stdout).toMatch(/matched +24 .*\n +delivered +15  accepted by the subscriber\n/);
    expect(stdout).toContain('The report does not balance.');
  });
});
