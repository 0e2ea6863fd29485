import type { JSX } from 'preact';
import { listRecoveries } from '../../../../cli/api/recoveries.ts';
import { firstOf } from '../../api/listed.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Empty } from '../../parts/notice.tsx';
import { PageHeading } from '../../parts/page-heading.tsx';
import { Section } from '../../parts/section.tsx';
import { hrefTo, type Query } from '../../route.ts';
import { ReplayForm } from './replay-form.tsx';
import { ReplayList } from './replay-list.tsx';

const MOST = 20;

/** Gives what has failed another round, and shows how far that is. */
export function ReplayPage({ queue, query }: { queue: string; query: Query }): JSX.Element {
  const { api } = useConsole();
  const recoveries = useLive(`recoveries/${queue}`, () =>
    firstOf(listRecoveries(api, queue, MOST + 1), MOST),
  );
  return (
    <>
      <PageHeading
        title={`Replay of ${queue}`}
        crumbs={[{ text: queue, href: hrefTo({ page: 'queue', queue }) }]}
      />
      <p>
        After an outage: each delivery of a window that was rejected, exhausted or cancelled gets another
        round of attempts, in the background. What fails while it runs is left to the next replay.
      </p>
      <Section title="Start a replay">
        <ReplayForm queue={queue} query={query} onStarted={recoveries.refresh} />
      </Section>
      <Section title="Replays of this queue">
        <Loaded live={recoveries}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="None yet" />
            ) : (
              <ReplayList queue={queue} recoveries={items} onChanged={recoveries.refresh} />
            )
          }
        </Loaded>
      </Section>
    </>
  );
}
