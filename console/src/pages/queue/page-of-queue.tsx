import type { ComponentChildren } from 'preact';
import { listQueues, putQueue } from '../../../../api-client/operations.ts';
import { nearestNames } from '../../../../api-client/queues.ts';
import { isNotFound } from '../../../../api-client/refusal.ts';
import { useConsole } from '../../live/console-context.tsx';
import { type Live, useLive, useLiveItems } from '../../live/use-live.ts';
import { ActionButton } from '../../parts/form.tsx';
import { Empty, Loaded } from '../../parts/loaded.tsx';
import { crumbTo, PageHeading } from '../../parts/page-heading.tsx';
import { hrefTo } from '../../route.ts';

/** Shown in place of a page of a queue that does not exist: the name that was probably meant, and a button that creates the queue. */
export function MissingQueue({ queue, onCreated }: { queue: string; onCreated: () => void }) {
  const { api } = useConsole();
  const { value: [name] = [] } = useLive(`nearest/${queue}`, () => nearestNames(api, queue), { once: true });
  return (
    <Empty title={`There is no queue ${queue}.`}>
      {name === undefined ? null : (
        <p>
          Did you mean <a href={hrefTo({ page: 'queue', queue: name })}>{name}</a>?
        </p>
      )}
      <p>Messages that arrive for this name are dead letters (unknown_queue) until the queue exists.</p>
      <ActionButton work={() => api.call(putQueue, { path: { queue }, body: '{}' }).then(onCreated)}>
        Create queue {queue}
      </ActionButton>
    </Empty>
  );
}

type PageOfQueueProps = {
  title: string;
  queue: string;
  live: Pick<Live<unknown>, 'failure' | 'refresh'>;
  children: ComponentChildren;
};

/** A page about one queue, below its heading. `live`: what it shows, which fails where the queue does not exist. */
export function PageOfQueue({ title, queue, live, children }: PageOfQueueProps) {
  return (
    <>
      <PageHeading title={`${title} of ${queue}`} crumbs={[crumbTo(queue)]} />
      {isNotFound(live.failure) ? <MissingQueue queue={queue} onCreated={live.refresh} /> : children}
    </>
  );
}

const MOST = 100;

/** Chooses the queue for a page that shows one queue. */
export function QueueChoice({ title, page }: { title: string; page: 'recovery' | 'books' }) {
  const queues = useLiveItems(listQueues, { query: { detailed: true }, most: MOST });
  return (
    <>
      <PageHeading title={title} />
      <p>Choose a queue.</p>
      <Loaded live={queues} lines={5}>
        {({ items, more }) =>
          items.length === 0 ? (
            <Empty title="No queues yet">
              <p>
                <a href={hrefTo({ page: 'overview' })}>Create the first one on the overview page.</a>
              </p>
            </Empty>
          ) : (
            <>
              <ul class="choices">
                {items.map(({ name }) => (
                  <li key={name}>
                    <a href={hrefTo({ page, queue: name, query: {} })}>{name}</a>
                  </li>
                ))}
              </ul>
              {more ? (
                <p class="muted">
                  Only the first {MOST} are shown. Open any other queue by name on the overview page.
                </p>
              ) : null}
            </>
          )
        }
      </Loaded>
    </>
  );
}
