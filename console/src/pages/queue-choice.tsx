import type { JSX } from 'preact';
import { listQueues } from '../../../cli/api/queues.ts';
import { firstOf } from '../api/listed.ts';
import { useConsole } from '../live/console-context.tsx';
import { useLive } from '../live/use-live.ts';
import { Loaded } from '../parts/loaded.tsx';
import { Empty } from '../parts/notice.tsx';
import { PageHeading } from '../parts/page-heading.tsx';
import { hrefTo } from '../route.ts';

const MOST = 100;

/** Of what is done for one queue at a time: which one. */
export function QueueChoice({ title, page }: { title: string; page: 'replay' | 'books' }): JSX.Element {
  const { api } = useConsole();
  const queues = useLive(`choice/${page}`, () => firstOf(listQueues(api, MOST + 1), MOST));
  return (
    <>
      <PageHeading title={title} />
      <p>Of which queue?</p>
      <Loaded live={queues} lines={5}>
        {({ items, more }) =>
          items.length === 0 ? (
            <Empty title="There are no queues yet">
              <p>
                <a href={hrefTo({ page: 'overview' })}>Create the first one on the overview.</a>
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
                  These are the first {MOST}. The overview leads to every other by its name.
                </p>
              ) : null}
            </>
          )
        }
      </Loaded>
    </>
  );
}
