import type { JSX } from 'preact';
import { listRecoveries } from '../../../../cli/api/recoveries.ts';
import { isNotFound } from '../../api/failure-words.ts';
import { firstOf } from '../../api/listed.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Empty } from '../../parts/notice.tsx';
import { PageHeading } from '../../parts/page-heading.tsx';
import { Section } from '../../parts/section.tsx';
import { hrefTo, type Query } from '../../route.ts';
import { MissingQueue } from '../queue/missing-queue.tsx';
import { ReplayForm } from './replay-form.tsx';
import { ReplayList } from './replay-list.tsx';

const MOST = 20;

/** Starts recoveries of a queue and shows their progress. */
export function ReplayPage({ queue, query }: { queue: string; query: Query }): JSX.Element {
  const { api } = useConsole();
  const recoveries = useLive(`recoveries/${queue}`, () =>
    firstOf(listRecoveries(api, queue, MOST + 1), MOST),
  );
  const heading = (
    <PageHeading
      title={`Recovery of ${queue}`}
      crumbs={[{ text: queue, href: hrefTo({ page: 'queue', queue }) }]}
    />
  );
  if (isNotFound(recoveries.failure))
    return (
      <>
        {heading}
        <MissingQueue queue={queue} onCreated={recoveries.refresh} />
      </>
    );
  return (
    <>
      {heading}
      <p>
        Replays failed deliveries after an outage: each rejected, exhausted or cancelled delivery of a time
        window gets another round of attempts, in the background. A recovery does not include deliveries that
        fail after its start.
      </p>
      <Section title="Start a recovery">
        <ReplayForm queue={queue} query={query} onStarted={recoveries.refresh} />
      </Section>
      <Section title="Recoveries of this queue">
        <Loaded live={recoveries}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No recoveries yet" />
            ) : (
              <ReplayList queue={queue} recoveries={items} onChanged={recoveries.refresh} />
            )
          }
        </Loaded>
      </Section>
    </>
  );
}
