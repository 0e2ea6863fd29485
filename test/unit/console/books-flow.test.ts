import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BOOKS_FIGURES, EMPTY_BOOKS, type Books } from '../../../shared/domain/delivery/books.ts';
import { toRecord } from '../../../shared/domain/delivery/vocabulary.ts';
import { flowLayout, type FlowName } from '../../../console/src/pages/books/books-page.tsx';

const books: Books = {
  ...EMPTY_BOOKS,
  accepted: 60,
  matched: 80,
  filtered: 15,
  unmatched: 5,
  delivered: 60,
  rejected: 10,
  pending: 10,
};

const nodeIn = (flow: ReturnType<typeof flowLayout>, name: FlowName) =>
  flow.nodes.find((node) => node.name === name);

describe('flowLayout', () => {
  it('draws all figures to one scale, from accepted to matched, filtered and unmatched', () => {
    const flow = flowLayout(books, 200);
    expect(nodeIn(flow, 'accepted')).toMatchObject({ column: 0, count: 60, height: 200 });
    expect(nodeIn(flow, 'matched')).toMatchObject({ column: 1, count: 80, y: 0, height: 160 });
    expect(nodeIn(flow, 'filtered')).toMatchObject({ count: 15, height: 30 });
    expect(nodeIn(flow, 'unmatched')).toMatchObject({ count: 5, height: 10 });
    expect(nodeIn(flow, 'delivered')).toMatchObject({ column: 2, count: 60, height: 120 });
  });

  it('leaves out figures of 0 and keeps small figures visible', () => {
    const flow = flowLayout({ ...books, exhausted: 1, matched: 80_001, delivered: 79_980 }, 200);
    expect(nodeIn(flow, 'cancelled')).toBeUndefined();
    expect(nodeIn(flow, 'exhausted')?.height).toBe(2);
  });

  it('shows matched deliveries that have no record', () => {
    expect(nodeIn(flowLayout({ ...books, delivered: 50 }, 200), 'missing')).toMatchObject({ count: 10 });
    expect(nodeIn(flowLayout(books, 200), 'missing')).toBeUndefined();
  });

  it('draws an empty window without bands', () => {
    const { nodes, bands, height } = flowLayout(EMPTY_BOOKS, 200);
    expect(nodes.map(({ name }) => name)).toEqual(['accepted', 'matched', 'delivered']);
    expect(bands).toEqual([]);
    expect(height).toBeGreaterThan(0);
  });

  it('never overlaps two figures of a column, and ends each band at its bar', () => {
    const any = fc.record(toRecord(BOOKS_FIGURES, () => fc.nat(1_000_000)));
    fc.assert(
      fc.property(any, (figures) => {
        const { nodes, bands } = flowLayout(figures, 220);
        for (const column of [0, 1, 2]) {
          const own = nodes.filter((node) => node.column === column);
          for (const [index, { y }] of own.entries()) {
            const before = own[index - 1];
            if (before !== undefined)
              expect(y).toBeGreaterThanOrEqual(before.y + Math.max(34, before.height));
          }
        }
        for (const { to, toY, thick } of bands) {
          const node = nodes.find(({ name }) => name === to);
          expect([toY, thick]).toEqual([node?.y, node?.height]);
        }
      }),
    );
  });
});
