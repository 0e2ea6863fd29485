import { listQueues } from '../../../api-client/operations.ts';
import { useConsole } from '../live/console-context.tsx';
import { useLive } from '../live/use-live.ts';
import { Loaded } from '../parts/loaded.tsx';
import { Empty } from '../parts/notice.tsx';
import { PageHeading } from '../parts/page-heading.tsx';
import { hrefTo } from '../route.ts';

const MOST = 100;

/** Chooses the queue for a page that shows one queue. */
export function QueueChoice({ title, page }: { title: string; page: 'recovery' | 'books' }) {
  const { api } = useConsole();
  const queues = useLive(`choice/${page}`, () =>
    api.items(listQueues, { query: { detailed: true }, most: MOST }),
  );
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
