import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';
import { listQueues } from '../../../../cli/api/queues.ts';
import { readHealth } from '../../../../cli/api/service.ts';
import { failureWords } from '../../api/failure-words.ts';
import { firstOf } from '../../api/listed.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { DialogButton } from '../../parts/dialog.tsx';
import { LoadMore } from '../../parts/load-more.tsx';
import { Loaded } from '../../parts/loaded.tsx';
import { PageHeading } from '../../parts/page-heading.tsx';
import { Section } from '../../parts/section.tsx';
import { CreateQueue } from '../queue/create-queue.tsx';
import { GoToQueue } from './go-to-queue.tsx';
import { NoQueues } from './no-queues.tsx';
import { QueueTable } from './queue-table.tsx';
import type { QueueFigures } from './queue-figures.ts';
import { ServiceHealth } from './service-health.tsx';
import { Totals } from './totals.tsx';
import { QueueWatch } from './queue-watch.tsx';

const PAGE_SIZE = 25;

export function OverviewPage(): JSX.Element {
  const { api, info } = useConsole();
  const [most, setMost] = useState(PAGE_SIZE);
  const queues = useLive(`queues/${most}`, () => firstOf(listQueues(api, most + 1), most));
  const health = useLive('health', (signal) => readHealth(api, signal));
  const [figuresByQueue, setFiguresByQueue] = useState<ReadonlyMap<string, QueueFigures>>(new Map());
  const report = useCallback((queue: string, figures: QueueFigures) => {
    setFiguresByQueue((before) => new Map(before).set(queue, figures));
  }, []);

  // The app already shows the missing deployment.
  if (info?.deployment === null) return <PageHeading title="Overview" />;
  return (
    <>
      <PageHeading title="Overview" />
      {isSameFailure(queues.failure, health.failure) ? null : <ServiceHealth health={health} />}
      <Totals queues={queues.value} figuresByQueue={figuresByQueue} health={health} />
      <Section
        title="Queues"
        aside={
          <div class="actions">
            <GoToQueue />
            {queues.value === undefined || queues.value.items.length === 0 ? null : (
              <DialogButton text="Create queue" wide>
                {() => <CreateQueue onCreated={queues.refresh} />}
              </DialogButton>
            )}
          </div>
        }
      >
        <Loaded live={queues} lines={8}>
          {({ items, more }) =>
            items.length === 0 ? (
              <NoQueues onCreated={queues.refresh} />
            ) : (
              <>
                {items.map(({ name }) => (
                  <QueueWatch key={name} queue={name} onFigures={report} />
                ))}
                <p class="muted">
                  Queues that need attention come first. Messages, delivered and failed cover the last five
                  minutes.
                </p>
                <QueueTable names={items.map(({ name }) => name)} figuresByQueue={figuresByQueue} />
                <LoadMore
                  more={more}
                  onMore={() => {
                    setMost(most + PAGE_SIZE);
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
function isSameFailure(one: unknown, other: unknown): boolean {
  return one !== undefined && other !== undefined && failureWords(one).title === failureWords(other).title;
}
