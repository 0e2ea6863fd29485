import type { ComponentChildren } from 'preact';
import { type ListedMessage, listMessages } from '../../../../api-client/operations.ts';
import { OPEN_STATUSES, RECOVERABLE_STATUSES } from '../../../../shared/domain/delivery/vocabulary.ts';
import { filtered, firstWithin } from '../../api/listed.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { Moment } from '../../parts/facts.tsx';
import { useWindow, WindowFields, windowQuery } from '../../parts/windows.tsx';
import { Loaded, Empty } from '../../parts/loaded.tsx';
import { LinkBar } from '../../parts/page-heading.tsx';
import { CommandText } from '../../parts/source-text.tsx';
import { StatusText } from '../../parts/status.tsx';
import { type Column, LoadMore, Table, useMost } from '../../parts/table.tsx';
import { hrefTo, type Query } from '../../route.ts';
import { PageOfQueue } from '../queue/page-of-queue.tsx';

const SHOWN_STATUSES = ['delivered', ...OPEN_STATUSES, ...RECOVERABLE_STATUSES] as const;

export function MessageTable(props: { rows: readonly ListedMessage[]; empty: ComponentChildren }) {
  return <Table {...props} caption="Messages, newest first" columns={COLUMNS} keyOf={({ id }) => id} />;
}

const COLUMNS: readonly Column<ListedMessage>[] = [
  { head: 'Accepted', cell: ({ acceptedAt }) => <Moment at={acceptedAt} /> },
  {
    head: 'Message',
    wide: true,
    cell: ({ queue, id, type }) => (
      <>
        <a class="id" href={hrefTo({ page: 'message', queue, message: id })}>
          {id}
        </a>
        {type === undefined ? null : <span class="sub">{type}</span>}
      </>
    ),
  },
  { head: 'Matched', numeric: true, cell: ({ matched }) => matched },
  { head: 'Filtered', numeric: true, cell: ({ filtered }) => filtered },
  { head: 'Outcome', cell: (message) => <OutcomeCounts of={message} /> },
];

function OutcomeCounts({ of: { matched, deliveries, unfinished } }: { of: ListedMessage }) {
  if (unfinished === true) return <span class="muted">still being dispatched</span>;
  if (matched === 0) return <span class="muted">no match</span>;
  if (deliveries === undefined) return <span class="muted">too many to count</span>;
  const some = SHOWN_STATUSES.filter((status) => deliveries[status] > 0);
  if (some.length === 0) return <span class="muted">not recorded yet</span>;
  return (
    <span class="tally">
      {some.map((status) => (
        <StatusText key={status} tone={status} text={`${deliveries[status]} ${status}`} />
      ))}
    </span>
  );
}

export function NoMessages({ queue }: { queue: string }) {
  return (
    <Empty title="No messages in the last 24 hours">
      <p>
        Producers send messages to the ingress queue. To see one arrive, publish a test message on the queue’s
        page, or run
      </p>
      <CommandText args={`publish ${queue} --data '{"test": true}'`} />
    </Empty>
  );
}

/** Filters by the figures of the reconciliation. Messages with too many deliveries to count pass the last two. */
const CHOICES = {
  all: ['All', () => true],
  matched: ['Matched', ({ matched }: ListedMessage) => matched > 0],
  unmatched: ['Unmatched', ({ matched, unfinished }: ListedMessage) => matched === 0 && unfinished !== true],
  filtered: ['Filtered', ({ filtered }: ListedMessage) => filtered > 0],
  delivered: [
    'Delivered',
    ({ deliveries }: ListedMessage) => deliveries === undefined || deliveries.delivered > 0,
  ],
  pending: [
    'Pending',
    ({ deliveries }: ListedMessage) =>
      deliveries === undefined || deliveries.pending + deliveries.retrying > 0,
  ],
} as const;

function isChoice(text: string): text is keyof typeof CHOICES {
  return Object.hasOwn(CHOICES, text);
}

export function MessagesPage({ queue, query }: { queue: string; query: Query }) {
  const { api } = useConsole();
  const { most, showMore } = useMost();
  const { show = 'all' } = query;
  const [window, setWindow] = useWindow({ page: 'messages', queue, query });
  const times = windowQuery(window);
  const choice = isChoice(show) ? show : 'all';
  const [, isWanted] = CHOICES[choice];
  const messages = useLive(
    `messages/${queue}/${choice}/${JSON.stringify(times)}`,
    (signal) =>
      firstWithin(
        (inTime) =>
          filtered(api.list(listMessages, { path: { queue }, query: times, signal: inTime }), isWanted),
        most,
        { signal },
      ),
    { version: most },
  );
  return (
    <PageOfQueue title="Messages" queue={queue} live={messages}>
      <LinkBar
        kind="choices-bar"
        label="Filter messages"
        links={Object.entries(CHOICES).map(([name, [text]]) => [
          text,
          hrefTo({ page: 'messages', queue, query: { ...times, show: name === 'all' ? undefined : name } }),
          name === choice,
        ])}
      />
      <WindowFields window={window} onChange={setWindow} />
      <div class="section">
        <Loaded live={messages} lines={8}>
          {({ items, more }) => (
            <>
              <MessageTable
                rows={items}
                empty={
                  choice === 'all' && query['since'] === undefined && !more ? (
                    <NoMessages queue={queue} />
                  ) : (
                    <Empty
                      title={more ? 'None among the newest messages' : 'No matching messages in this window'}
                    />
                  )
                }
              />
              <LoadMore what="messages" more={more} onMore={showMore} />
            </>
          )}
        </Loaded>
      </div>
    </PageOfQueue>
  );
}
