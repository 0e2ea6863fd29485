import type { ComponentChildren } from 'preact';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { parseLastTime, windowAround } from '../../../api-client/calendar-time.ts';
import { listQueues } from '../../../api-client/operations.ts';
import { cutText, searchQueue } from '../../../api-client/search.ts';
import { counted } from '../../../api-client/words.ts';
import { limitConcurrency } from '../../../shared/adapters/in-parallel.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { useConsole } from '../live/console-context.tsx';
import { Moment } from '../parts/facts.tsx';
import { SmallButton, submittedTexts } from '../parts/form.tsx';
import { Failure, WhyMissing } from '../parts/loaded.tsx';
import { hrefTo, type Route } from '../route.ts';

/** The search in the masthead. `/` focuses it; Enter searches; arrows choose a result; Escape closes the results. */
export function SearchBox({ route }: { route: Route }) {
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [sought, setSought] = useState<string>();
  const close = (): void => setSought(undefined);
  const leave = (): void => {
    close();
    input.current?.focus();
  };
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping()) return;
      event.preventDefault();
      input.current?.select();
      input.current?.focus();
    };
    document.addEventListener('keydown', focus);
    addEventListener('hashchange', close);
    return () => {
      document.removeEventListener('keydown', focus);
      removeEventListener('hashchange', close);
    };
  }, []);

  return (
    <div
      ref={box}
      class="search"
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget instanceof Node && box.current?.contains(relatedTarget) === false) close();
      }}
      onKeyDown={(event) => {
        const by = STEPS[event.key];
        if (event.key === 'Escape') leave();
        else if (by !== undefined && sought !== undefined) {
          event.preventDefault();
          moveFocus(box.current, by);
        }
      }}
    >
      <form role="search" onSubmit={(event) => setSought(submittedTexts(event)['text'])}>
        <label>
          <span class="unseen">Search</span>
          <input
            ref={input}
            name="text"
            maxLength={512}
            enterkeyhint="search"
            placeholder="Search ( / )"
            title="A message id, the id, name or URL of a subscription, a queue, or a time such as 14:03"
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      </form>
      {sought === undefined ? null : (
        <SearchResults
          key={sought}
          text={sought}
          queue={'queue' in route ? route.queue : undefined}
          onClose={leave}
        />
      )}
    </div>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** Whether `/` belongs to a field or an open dialog. */
function isTyping(): boolean {
  const { activeElement } = document;
  return (
    activeElement?.matches('input, textarea, select, [contenteditable]') === true ||
    document.querySelector('dialog[open]') !== null
  );
}

/** Moves between the input and the links of the results, without leaving them. */
function moveFocus(box: HTMLElement | null, by: number): void {
  const all = [...(box?.querySelectorAll<HTMLElement>('input, .search-results a') ?? [])];
  const at = all.findIndex((one) => one === document.activeElement);
  all[Math.min(all.length - 1, Math.max(0, at + by))]?.focus();
}

const MAX_SHOWN = 20;

type SearchResultsProps = {
  text: string;
  queue: string | undefined;
  onClose: () => void;
};

/** What a search has found so far, as groups of links below the box. `queue`: that of the current page. */
function SearchResults({ text, queue, onClose }: SearchResultsProps) {
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
    return () => closed.abort();
  }, [api, text]);

  return (
    <div class="search-results" tabIndex={-1}>
      <div class="search-bar">
        <p role="status">{failure === undefined ? progressText(found, time) : 'The search failed.'}</p>
        <SmallButton onClick={onClose}>Close</SmallButton>
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
          {cutText('subscriptions', cut)}.{' '}
          <a href={hrefTo({ page: 'queue', queue: cut })}>All of the queue</a>
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
      {isDone && time === undefined && countHits(found) === 0 ? <WhyMissing /> : null}
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

type GroupProps<Item> = {
  title: string;
  items: readonly Item[];
  children: (item: Item) => ComponentChildren;
};

function Group<Item>({ title, items, children }: GroupProps<Item>) {
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

function countHits({ queues, messages, subscriptions }: Found): number {
  return queues.length + messages.length + subscriptions.length;
}

function progressText(found: Found | undefined, time: SoughtTime | undefined): string {
  if (found === undefined) return 'Searching.';
  const { searched, isDone, lookedIn, more } = found;
  const hits = countHits(found);
  const nothing = time === undefined ? 'Nothing found' : 'A time. No other result';
  const result = hits > 0 ? counted(hits, 'result', 'results') : nothing;
  const all = counted(searched.length, 'queue', 'queues');
  return isDone
    ? `${result} in ${more ? `the first ${all}; there are more` : all}.`
    : `Searching: ${hits} found in ${lookedIn} of ${all} so far.`;
}

/** Milliseconds since the epoch. */
type SoughtTime = { since: number; until: number };

/**
 * The window around a time that the user typed: `14:03` (today, or yesterday if it is still to come),
 * `2026-11-21 14:03`, RFC 3339, or a whole day. Without a zone it is in the browser's. Undefined for other text.
 */
export function soughtTime(text: string, now: number): SoughtTime | undefined {
  // The hour may be of one digit.
  const time = parseLastTime(text.replace(/^\d:/, '0$&'), now);
  return time && windowAround(time);
}

export type Found = {
  /** Queues whose name contains the text. */
  queues: readonly string[];
  /** Queues that have a message with exactly this id. */
  messages: readonly string[];
  subscriptions: readonly SubscriptionView[];
  /** Queues with more matching subscriptions. */
  cutIn: readonly string[];
  /** The queues to search, in order, and how many are done. */
  searched: readonly string[];
  lookedIn: number;
  /** Whether there are further queues, which are not searched. */
  more: boolean;
  /** Queues that could not be looked in, and the first reason. */
  failed: { count: number; failure: unknown };
  isDone: boolean;
};

/** Each queue costs two requests. */
const MAX_QUEUES = 1_000;

/** Leaves two of the page's six slots to its polling. */
const MAX_CONCURRENT = 4;

const NOTHING: Found = {
  queues: [],
  messages: [],
  subscriptions: [],
  cutIn: [],
  searched: [],
  lookedIn: 0,
  more: false,
  failed: { count: 0, failure: undefined },
  isDone: false,
};

/**
 * Looks for a message id, a subscription (the beginning of its id, a part of its name or URL) and queue names in all
 * queues, those in `first` before the others. Reports what it has found so far.
 */
export async function search(
  api: ApiClient,
  text: string,
  {
    first,
    signal,
    onFound,
  }: { first: string | undefined; signal: AbortSignal; onFound: (found: Found) => void },
): Promise<void> {
  let found = NOTHING;
  const add = (news: Partial<Found>): void => {
    if (signal.aborted) return;
    found = { ...found, ...news };
    onFound(found);
  };
  const { items, more } = await api.items(listQueues, {
    query: { detailed: true },
    most: MAX_QUEUES,
    signal,
  });
  const names = items.map(({ name }) => name);
  const searched = names.toSorted((one, other) => Number(other === first) - Number(one === first));
  add({ queues: names.filter((name) => name.includes(text)), searched, more });
  const slots = limitConcurrency(MAX_CONCURRENT);
  await Promise.all(
    searched.map(async (queue) => {
      try {
        const result = await slots(() => searchQueue(api, queue, text, { signal }), signal);
        const { message, subscriptions, more: isCut } = result;
        add({
          ...(isCut && { cutIn: [...found.cutIn, queue] }),
          ...(message !== undefined && { messages: [...found.messages, queue] }),
          subscriptions: [...found.subscriptions, ...subscriptions],
        });
      } catch (failure) {
        add({ failed: { count: found.failed.count + 1, failure: found.failed.failure ?? failure } });
      }
      add({ lookedIn: found.lookedIn + 1 });
    }),
  );
  add({ isDone: true });
}
