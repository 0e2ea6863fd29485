import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';
import { listQueues } from '../../../../cli/api/queues.ts';
import { readHealth } from '../../../../cli/api/service.ts';
import { failureWords } from '../../api/failure-words.ts';
import { firstOf } from '../../api/listed.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { LoadMore } from '../../parts/load-more.tsx';
import { Loaded } from '../../parts/loaded.tsx';
import { PageHeading } from '../../parts/page-heading.tsx';
import { Section } from '../../parts/section.tsx';
import { GoToQueue } from './go-to-queue.tsx';
import { NoQueues } from './no-queues.tsx';
import { QueueTable } from './queue-table.tsx';
import type { QueueStanding } from './queue-standing.ts';
import { ServiceHealth } from './service-health.tsx';
import { Totals } from './totals.tsx';
import { QueueWatch } from './queue-watch.tsx';

const A_PAGE = 25;

export function OverviewPage(): JSX.Element {
  const { api, info } = useConsole();
  const [most, setMost] = useState(A_PAGE);
  const queues = useLive(`queues/${most}`, () => firstOf(listQueues(api, most + 1), most));
  const health = useLive('health', (signal) => readHealth(api, signal));
  const [standings, setStandings] = useState<ReadonlyMap<string, QueueStanding>>(new Map());
  const report = useCallback((queue: string, standing: QueueStanding) => {
    setStandings((before) => new Map(before).set(queue, standing));
  }, []);

  // The app already shows the missing deployment.
  if (info?.deployment === null) return <PageHeading title="Overview" />;
  return (
    <>
      <PageHeading title="Overview" />
      {isSaidOf(queues.failure, health.failure) ? null : <ServiceHealth health={health} />}
      <Totals queues={queues.value} standings={standings} health={health} />
      <Section title="Queues" aside={<GoToQueue />}>
        <Loaded live={queues} lines={8}>
          {({ items, more }) =>
            items.length === 0 ? (
              <NoQueues onCreated={queues.refresh} />
            ) : (
              <>
                {items.map(({ name }) => (
                  <QueueWatch key={name} queue={name} onStanding={report} />
                ))}
                <p class="muted">
                  Queues that need attention come first. Figures are for the last five minutes.
                </p>
                <QueueTable names={items.map(({ name }) => name)} standings={standings} />
                <LoadMore
                  more={more}
                  onMore={() => {
                    setMost(most + A_PAGE);
                  }}
                >
                  Show more queues
                </LoadMore>
              </>
            )
          }
        </Loaded>
      </Section>
    </>
  );
}

/** Whether two failures are the same, so that one is shown for both. */
function isSaidOf(one: unknown, other: unknown): boolean {
  return one !== undefined && other !== undefined && failureWords(one).title === failureWords(other).title;
}
