import type { ComponentChildren } from 'preact';
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import { cutText } from '../../../../api-client/search.ts';
import { counted } from '../../../../api-client/words.ts';
import { timeText } from '../../../../shared/wire/fields.ts';
import { search, type Found } from '../../api/search.ts';
import { useConsole } from '../../live/console-context.tsx';
import { Moment } from '../../parts/facts.tsx';
import { Failure } from '../../parts/notice.tsx';
import { WhyMissing } from '../../parts/loaded.tsx';
import { hrefTo } from '../../route.ts';
import { soughtTime, type SoughtTime } from './sought-time.ts';

const MAX_SHOWN = 20;

/** What a search has found so far, as groups of links below the box. `queue`: that of the current page. */
export function SearchResults({
  text,
  queue,
  onClose,
}: {
  text: string;
  queue: string | undefined;
  onClose: () => void;
}) {
  const { api } = useConsole();
  const [found, setFound] = useState<Found>();
  const [failure, setFailure] = useState<unknown>();
  const time = useMemo(() => soughtTime(text, Date.now()), [text]);
  useEffect(() => {
    const closed = new AbortController();
    const { signal } = closed;
    search(api, text, { first: queue, signal, onFound: setFound }).catch((error: unknown) => {
      if (!signal.aborted) setFailure(error);
    });
    return () => {
      closed.abort();
    };
  }, [api, text]);

  return (
    <div class="search-results" tabIndex={-1}>
      <div class="search-bar">
        <p role="status">{failure === undefined ? progressText(found, time) : 'The search failed.'}</p>
        <button type="button" class="button button-small" onClick={onClose}>
          Close
        </button>
      </div>
      {failure === undefined ? null : <Failure of={failure} />}
      {found === undefined ? null : <Groups text={text} found={found} time={time} />}
    </div>
  );
}

function Groups({ text, found, time }: { text: string; found: Found; time: SoughtTime | undefined }) {
  const { queues, messages, subscriptions, cutIn, failed, isDone } = found;
  return (
    <>
      <Group title="Message" items={messages}>
        {(queue) => (
          <a class="id" href={hrefTo({ page: 'message', queue, message: text })}>
            {text} <span class="muted">in {queue}</span>
          </a>
        )}
      </Group>
      <Group title="Subscriptions" items={subscriptions}>
        {({ source, id, name, subscriber }) => (
          <a href={hrefTo({ page: 'subscription', queue: source, subscription: id })}>
            {name ?? subscriber}{' '}
            <span class="muted">
              {name === undefined ? '' : `${subscriber}, `}
              {id} in {source}
            </span>
          </a>
        )}
      </Group>
      {cutIn.slice(0, MAX_SHOWN).map((cut) => (
        <p key={cut} class="muted">
          {cutText('subscriptions', cut)}
        </p>
      ))}
      <Group title="Queues" items={queues}>
        {(queue) => <a href={hrefTo({ page: 'queue', queue })}>{queue}</a>}
      </Group>
      {time === undefined ? null : <TimeGroup time={time} found={found} />}
      {failed.count === 0 ? null : (
        <>
          <p>{counted(failed.count, 'queue', 'queues')} could not be searched:</p>
          <Failure of={failed.failure} />
        </>
      )}
      {isDone && time === undefined && hitsOf(found) === 0 ? <WhyMissing /> : null}
    </>
  );
}

/** The messages around a time, of the queues that were searched. */
function TimeGroup({ time, found }: { time: SoughtTime; found: Found }) {
  const query = { since: timeText(time.since), until: timeText(time.until) };
  return (
    <Group title="Messages around this time" items={found.searched}>
      {(queue) => (
        <a href={hrefTo({ page: 'messages', queue, query })}>
          {queue}{' '}
          <span class="muted">
            <Moment at={query.since} /> to <Moment at={query.until} />
          </span>
        </a>
      )}
    </Group>
  );
}

function Group<Item>({
  title,
  items,
  children,
}: {
  title: string;
  items: readonly Item[];
  children: (item: Item) => ComponentChildren;
}) {
  const id = useId();
  if (items.length === 0) return null;
  return (
    <div class="search-group">
      <p id={id} class="strong">
        {title}
      </p>
      <ul aria-labelledby={id}>
        {items.slice(0, MAX_SHOWN).map((item, index) => (
          <li key={index}>{children(item)}</li>
        ))}
      </ul>
      {items.length > MAX_SHOWN ? (
        <p class="muted">{counted(items.length - MAX_SHOWN, 'more is', 'more are')} not shown.</p>
      ) : null}
    </div>
  );
}

function hitsOf({ queues, messages, subscriptions }: Found): number {
  return queues.length + messages.length + subscriptions.length;
}

function progressText(found: Found | undefined, time: SoughtTime | undefined): string {
  if (found === undefined) return 'Searching.';
  const { searched, isDone, lookedIn, more } = found;
  const hits = hitsOf(found);
  const nothing = time === undefined ? 'Nothing found' : 'A time. No other result';
  const result = hits > 0 ? counted(hits, 'result', 'results') : nothing;
  const all = counted(searched.length, 'queue', 'queues');
  return isDone
    ? `${result} in ${more ? `the first ${all}; there are more` : all}.`
    : `Searching: ${hits} found in ${lookedIn} of ${all} so far.`;
}
