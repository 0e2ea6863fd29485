import { useState } from 'preact/hooks';
import { readBooks } from '../../../../api-client/operations.ts';
import { BOOKS_MEANINGS } from '../../../../api-client/words.ts';
import { type Books, EMPTY_BOOKS, isBalanced, sumOfBooks } from '../../../../shared/domain/delivery/books.ts';
import {
  RECOVERABLE_STATUSES,
  type TerminalStatus,
  toRecord,
  wordsIn,
} from '../../../../shared/domain/delivery/vocabulary.ts';
import { timeText } from '../../../../shared/wire/fields.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useWidth } from '../../live/hooks.ts';
import { useLive } from '../../live/use-live.ts';
import { Loaded, Empty, Notice } from '../../parts/loaded.tsx';
import { Section } from '../../parts/page-heading.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { useWindow, WindowFields, windowQuery } from '../../parts/windows.tsx';
import { hrefTo, type Query } from '../../route.ts';
import { PageOfQueue } from '../queue/page-of-queue.tsx';

/** Compares the messages that a queue accepted in a window with the outcomes of their deliveries. */
export function BooksPage({ queue, query }: { queue: string; query: Query }) {
  const { api } = useConsole();
  const [window, setWindow] = useWindow({ page: 'books', queue, query });
  const [counted, setCounted] = useState<Books>();
  const books = useLive(`books/${queue}/${window.since}/${window.until ?? ''}`, async (signal) => {
    const times = { since: timeText(window.since), until: timeText(window.until ?? Date.now()) };
    let sum = EMPTY_BOOKS;
    for await (const page of api.pages(readBooks, { path: { queue }, query: times, signal })) {
      sum = sumOfBooks(sum, page.books);
      setCounted(sum);
    }
    setCounted(undefined);
    return sum;
  });
  const links = linksTo(queue, windowQuery(window));
  return (
    <PageOfQueue title="Reconciliation" queue={queue} live={books}>
      <WindowFields window={window} onChange={setWindow} />
      <Section title="From accepted to delivered">
        {books.value === undefined && counted !== undefined ? (
          <p class="muted" role="status">
            {counted.accepted.toLocaleString('en')} messages counted so far
          </p>
        ) : null}
        <Loaded live={books} lines={8}>
          {(value) => <Report books={value} links={links} />}
        </Loaded>
      </Section>
    </PageOfQueue>
  );
}

function Report({ books, links }: { books: Books; links: FlowLinks }) {
  return books.accepted === 0 ? (
    <Empty title="No messages accepted in this window">
      <p>Choose another window above, or publish a message on the queue’s page.</p>
    </Empty>
  ) : (
    <div class="stack">
      <FlowPicture books={books} links={links} />
      {isBalanced(books) ? (
        <p>
          <span class="tone-delivered">Balanced:</span> every matched delivery is recorded.
        </p>
      ) : (
        <Notice tone="warning" title="Not balanced yet">
          <p>
            Deliveries that wait for their first attempt are not recorded yet. If the difference remains,
            deliveries are lost.
          </p>
        </Notice>
      )}
      <BooksTable books={books} links={links} />
    </div>
  );
}

function linksTo(queue: string, window: ReturnType<typeof windowQuery>): FlowLinks {
  const messages = (show?: string): string => hrefTo({ page: 'messages', queue, query: { ...window, show } });
  const deliveries = (status: string): string =>
    hrefTo({ page: 'deliveries', queue, query: { ...window, status } });
  return {
    ...toRecord([...MIDDLE, 'delivered', 'pending'], messages),
    ...toRecord(RECOVERABLE_STATUSES, deliveries),
    accepted: messages(),
    missing: messages('matched'),
  };
}

/** The figures of the flow chart as a table. */
function BooksTable({ books, links }: { books: Books; links: FlowLinks }) {
  const columns: readonly Column<keyof Books>[] = [
    {
      head: 'Figure',
      cell: (name) =>
        name === 'duplicates' || name === 'unfinished' ? name : <a href={links[name]}>{name}</a>,
    },
    { head: 'Count', numeric: true, cell: (name) => books[name].toLocaleString('en') },
    { head: 'What it counts', wide: true, cell: (name) => BOOKS_MEANINGS[name] },
  ];
  return (
    <Table caption="Reconciliation figures" columns={columns} rows={wordsIn(BOOKS_MEANINGS)} keyOf={String} />
  );
}

const BAR = 10;
const ROOM = 220;
/** Width of the labels to the right of the last bars. */
const LABEL = 112;

type FlowLinks = Readonly<Record<FlowName, string>>;

/** The flow from accepted messages to outcomes. Each figure links to its list. */
function FlowPicture({ books, links }: { books: Books; links: FlowLinks }) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const flow = flowLayout(books, ROOM);
  const step = Math.max(100, (width - LABEL - BAR) / 2);
  const findPlace = (name: FlowName): number =>
    (flow.nodes.find((node) => node.name === name)?.column ?? 0) * step;
  return (
    <div ref={ref} class="flow">
      <svg
        width={width}
        height={flow.height + 4}
        role="group"
        aria-label="Flow of accepted messages to their outcomes"
      >
        {flow.bands.map((band) => (
          <path
            key={`${band.from} ${band.to}`}
            class={`band tone-${band.to}`}
            d={bandPath(band, findPlace(band.from) + BAR, findPlace(band.to))}
          />
        ))}
        {flow.nodes.map((node) => (
          <Bar key={node.name} node={node} x={node.column * step} href={links[node.name]} />
        ))}
      </svg>
    </div>
  );
}

function bandPath({ fromY, toY, thick }: FlowBand, fromX: number, toX: number): string {
  const middle = (fromX + toX) / 2;
  return [
    `M${fromX} ${fromY}`,
    `C${middle} ${fromY} ${middle} ${toY} ${toX} ${toY}`,
    `V${toY + thick}`,
    `C${middle} ${toY + thick} ${middle} ${fromY + thick} ${fromX} ${fromY + thick}Z`,
  ].join('');
}

function Bar({ node, x, href }: { node: FlowNode; x: number; href: string }) {
  const { name, count, y, height } = node;
  return (
    <a href={href}>
      <g class={`flow-node tone-${name}`}>
        <rect class="flow-room" x={x} y={y} width={LABEL} height={Math.max(34, height)} />
        <rect x={x} y={y} width={BAR} height={Math.max(1, height)} rx="2" />
        <text x={x + BAR + 6} y={y + 14} class="flow-count">
          {count.toLocaleString('en')}
        </text>
        <text x={x + BAR + 6} y={y + 29}>
          {name === 'missing' ? 'not recorded' : name}
        </text>
      </g>
    </a>
  );
}

type Matched = 'matched' | 'filtered' | 'unmatched';
type End = TerminalStatus | 'pending' | 'missing';
export type FlowName = 'accepted' | Matched | End;

/** A figure as a bar: `y` from the top, in the units of the picture. */
type FlowNode = { name: FlowName; column: 0 | 1 | 2; count: number; y: number; height: number };

/** The flow from one bar to another. `fromY` and `toY` are the upper edges, `thick` is the height at both ends. */
type FlowBand = { from: FlowName; to: FlowName; fromY: number; toY: number; thick: number };

const MIDDLE = ['matched', 'filtered', 'unmatched'] as const;
const ENDS = ['delivered', 'pending', ...RECOVERABLE_STATUSES, 'missing'] as const;

/** Height of the two lines of a label. */
const MIN_ROW_HEIGHT = 34;
/** Keeps a small figure visible. */
const MIN_THICKNESS = 2;

/**
 * Lays out the flow from accepted to matched, filtered and unmatched, and from matched to the outcomes. Bars share a
 * scale of `room` units in total. Figures of 0 are left out, except `matched` and `delivered`. `missing` counts
 * matched deliveries without a record.
 */
export function flowLayout(books: Books, room: number) {
  const counts: Record<FlowName, number> = { ...books, missing: missingIn(books) };
  const whole = Math.max(1, counts.matched + counts.filtered + counts.unmatched);
  const thick = (count: number): number => (count <= 0 ? 0 : Math.max(MIN_THICKNESS, (count / whole) * room));
  const column = (number: 1 | 2, names: readonly FlowName[], always: FlowName): FlowNode[] => {
    let y = 0;
    const shown = names.filter((name) => name === always || counts[name] > 0);
    return shown.map((name) => {
      const height = thick(counts[name]);
      const node: FlowNode = { name, column: number, count: counts[name], y, height };
      y += Math.max(MIN_ROW_HEIGHT, height + 10);
      return node;
    });
  };
  const middle = column(1, MIDDLE, 'matched');
  const ends = column(2, ENDS, 'delivered');
  const first: FlowNode = {
    name: 'accepted',
    column: 0,
    count: counts.accepted,
    y: 0,
    height: middle.reduce((sum, { height }) => sum + height, 0),
  };
  const nodes = [first, ...middle, ...ends];
  const [matched] = middle;
  return {
    nodes,
    bands: [...bandsFrom(first, middle), ...(matched === undefined ? [] : bandsFrom(matched, ends))],
    height: Math.max(...nodes.map(({ y, height }) => y + Math.max(MIN_ROW_HEIGHT, height))),
  };
}

function missingIn({ matched, delivered, rejected, exhausted, cancelled, pending }: Books): number {
  return Math.max(0, matched - delivered - rejected - exhausted - cancelled - pending);
}

function bandsFrom(from: FlowNode, to: readonly FlowNode[]): FlowBand[] {
  let fromY = from.y;
  return to
    .filter(({ height }) => height > 0)
    .map((node) => {
      const band = { from: from.name, to: node.name, fromY, toY: node.y, thick: node.height };
      fromY += node.height;
      return band;
    });
}
