import { describe, expect, it } from 'vitest';
import { ID, SUBSCRIPTIONS } from './delivery-views.ts';
import { json, MORE, runOn, type StubRoutes } from './stub-api.ts';

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
  /** A page of the report for each number of delivered ones. */
  const pages = (...delivered: number[]): StubRoutes => ({
    ...SUBSCRIPTIONS,
    'GET /v2/queues/orders/books': (_, index) => {
      const isLast = index + 1 === delivered.length;
      return json({
        queue: 'orders',
        ...window,
        books: books(delivered[index] ?? 0),
        balances: true,
        ...(!isLast && { countedUntil: '2026-01-01T12:00:00.000Z' }),
        links: isLast ? [] : MORE,
      });
    },
  });
  const BOOKS = `books orders --since ${window.since} --until ${window.until}`;

  it('adds up the pages', async () => {
    const { status, lines } = await runOn(pages(8, 8), `${BOOKS} --json`);
    const sums = { accepted: 20, matched: 24, delivered: 16, pending: 2 };
    expect(status).toBe(0);
    expect(lines).toMatchObject([{ queue: 'orders', ...window, books: sums, balances: true }]);
  });

  it('shows the sums so far while it adds up the pages', async () => {
    const { stderr } = await runOn(pages(8, 8), BOOKS, {
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
    const { status, lines, requests } = await runOn(pages(8), `${BOOKS} --subscription ACME --json`);
    expect(status).toBe(0);
    expect(lines).toMatchObject([{ queue: 'orders', subscription: ID, balances: true }]);
    expect(requests.at(-1)?.path).toContain(`subscription=${ID}`);
  });

  it('fails if the sums do not balance, even if each page claims to', async () => {
    const { status, stdout } = await runOn(pages(8, 7), BOOKS);
    expect(status).toBe(1);
    expect(stdout).toMatch(/matched +24 .*\n +delivered +15  accepted by the subscriber\n/);
    expect(stdout).toContain('The report does not balance.');
  });
});
