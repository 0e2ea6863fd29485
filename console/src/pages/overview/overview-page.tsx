import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { type Health, listQueues, readHealth } from '../../../../api-client/operations.ts';
import { counted, HEALTH_NAMES } from '../../../../api-client/words.ts';
import { REDRIVEN_QUEUES } from '../../../../shared/domain/work-queues.ts';
import { failureWords } from '../../api/failure-words.ts';
import { useConsole } from '../../live/console-context.tsx';
import { type Live, type Loading, useLive, useLiveCall, useLiveItems } from '../../live/use-live.ts';
import { DialogButton } from '../../parts/dialog.tsx';
import { Button, submittedTexts } from '../../parts/form.tsx';
import { Loaded, LoadingFigure, Empty, Failure, Notice } from '../../parts/loaded.tsx';
import { PageHeading, Section } from '../../parts/page-heading.tsx';
import { LoadMore, useMost } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';
import {
  type Counts,
  failedIn,
  successRate,
  type WindowName,
  WINDOWS,
  NotCounted,
  percentText,
  StatisticsCharts,
  WindowChoice,
} from '../../statistics/statistics-charts.tsx';
import { DeletedQueues } from '../queue/archives.tsx';
import { CreateQueue } from '../queue/edit-queue.tsx';
import {
  computeFigures,
  LATE_MS,
  type QueueFigures,
  QueueTable,
  readQueue,
  renderFigure,
  type ShownQueue,
  sumFigures,
  waitingIn,
} from './queue-table.tsx';

export function OverviewPage() {
  const { info } = useConsole();
  const { most, showMore } = useMost();
  const queues = useLiveItems(listQueues, { query: { detailed: true }, most });
  const health = useLiveCall(readHealth, {});
  const [window, setWindow] = useState<WindowName>('hour');
  const [watched, setWatched] = useState<ReadonlyMap<string, Figures>>(new Map());
  const report = useCallback(
    (key: string, figures: Figures) => setWatched((before) => new Map(before).set(key, figures)),
    [],
  );
  const shown = (queues.value?.items ?? []).map(({ name, paused }): ShownQueue => {
    return { name, ...(paused && { paused }), ...(watched.get(`${name}/${window}`) ?? UNREAD) };
  });

  // The app already shows the missing deployment.
  if (info?.deployment === null) return <PageHeading title="Overview" />;
  return (
    <>
      <PageHeading title="Overview" />
      {isSameFailure(queues.failure, health.failure) ? null : <ServiceHealth health={health} />}
      <Totals queues={queues.value && { shown, more: queues.value.more }} window={window} health={health} />
      <Section
        title="Queues"
        aside={
          <div class="actions">
            <GoToQueue />
            {shown.length === 0 ? null : (
              <DialogButton text="Create queue" wide>
                <CreateQueue onCreated={queues.refresh} />
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
                  <QueueWatch key={name} queue={name} window={window} onFigures={report} />
                ))}
                <p class="muted">
                  Queues that need attention come first. Messages, delivered and failed cover the{' '}
                  {WINDOWS[window].text}.
                </p>
                <Unread queues={shown} listFailure={queues.failure} />
                <QueueTable queues={shown} window={window} />
                <LoadMore what="queues" more={more} onMore={showMore} />
              </>
            )
          }
        </Loaded>
      </Section>
      <DeletedQueues />
      <OverTime queues={shown} window={window} onWindow={setWindow} />
    </>
  );
}

/** Shown for a deployment without queues: creates the first one. */
function NoQueues({ onCreated }: { onCreated: () => void }) {
  return (
    <Empty title="No queues yet">
      <p>
        A queue is a named channel. Producers publish messages to it, and its subscribers get each message as
        an HTTP POST.
      </p>
      <CreateQueue label="Name of the first queue" onCreated={onCreated} />
    </Empty>
  );
}

/** The queues whose figures could not be read, and the reason for the first of them. */
function Unread({ queues, listFailure }: { queues: readonly ShownQueue[]; listFailure: unknown }) {
  const [first, ...others] = queues.filter(
    ({ failure }) => failure !== undefined && !isSameFailure(failure, listFailure),
  );
  if (first === undefined) return null;
  return (
    <>
      <p>
        The figures of {first.name}
        {others.length === 0 ? '' : ` and ${counted(others.length, 'other queue', 'other queues')}`} could not
        be read:
      </p>
      <Failure of={first.failure} />
    </>
  );
}

type OverTimeProps = {
  queues: readonly ShownQueue[];
  window: WindowName;
  onWindow: (window: WindowName) => void;
};

function OverTime({ queues, window, onWindow }: OverTimeProps) {
  if (queues.length === 0) return null;
  const known = queues.flatMap(({ value }) => value ?? []);
  const { summary } = sumFigures(known);
  const uncounted = known.length === 0 ? <p class="muted">Not counted yet.</p> : <NotCounted />;
  return (
    <Section title="Over time" aside={<WindowChoice window={window} onChange={onWindow} />}>
      {summary === undefined ? (
        uncounted
      ) : (
        <StatisticsCharts summary={summary} window={window} queues={known.length} />
      )}
    </Section>
  );
}

/** Whether two failures are the same, so that one is shown for both. */
function isSameFailure(one: unknown, other: unknown): boolean {
  return one !== undefined && other !== undefined && failureWords(one).title === failureWords(other).title;
}

/** Opens a queue by name. */
function GoToQueue() {
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        const { queue } = submittedTexts(event);
        if (queue !== undefined) location.hash = hrefTo({ page: 'queue', queue });
      }}
    >
      <label>
        <span class="unseen">Queue name</span>
        <input name="queue" placeholder="Go to queue" autocomplete="off" spellcheck={false} />
      </label>
      <Button type="submit">Go</Button>
    </form>
  );
}

type Figures = Loading<QueueFigures>;

const UNREAD: Figures = { value: undefined, failure: undefined };

type QueueWatchProps = {
  queue: string;
  window: WindowName;
  onFigures: (key: string, figures: Figures) => void;
};

/** Polls a queue and reports its figures, by its name and the window, to the parent. Renders nothing. */
function QueueWatch({ queue, window, onFigures }: QueueWatchProps): null {
  const { api } = useConsole();
  const key = `${queue}/${window}`;
  const { value, failure } = useLive(`figures/${key}`, async (signal) =>
    computeFigures(await readQueue(api, queue, { window, now: Date.now(), signal })),
  );
  useEffect(() => onFigures(key, { value, failure }), [key, value, failure, onFigures]);
  return null;
}

type Tile = readonly [name: string, text: ComponentChildren, tone?: string];

type TotalsProps = {
  queues: { shown: readonly ShownQueue[]; more: boolean } | undefined;
  window: WindowName;
  health: Live<Health>;
};

/** The totals of the queues on this page. `queues`: undefined until they have loaded. */
function Totals({ queues, window, health }: TotalsProps) {
  const known = (queues?.shown ?? []).flatMap(({ value }) => value ?? []);
  const isWhole = known.length === queues?.shown.length;
  const tiles = isWhole || known.length > 0 ? buildTiles(sumFigures(known)) : LOADING_TILES;
  // Messages and deliveries that still wait in SQS have no record yet, so no other figure includes them.
  const waiting = renderFigure(health, (value) => waitingIn(value)?.toLocaleString('en') ?? 'unknown');
  return (
    <div class="totals">
      <dl class={isWhole ? 'tiles' : 'tiles tiles-incomplete'}>
        {[...tiles, ['Waiting in SQS', waiting] as const].map(([name, text, tone = '']) => (
          <div key={name} class="tile">
            <dt>{name}</dt>
            <dd class={tone}>{text}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">
        {isWhole
          ? `${wholeText(queues.shown.length, queues.more)}, ${WINDOWS[window].text}.`
          : soFarText(known.length, queues)}
      </p>
    </div>
  );
}

function wholeText(count: number, more: boolean): string {
  return more
    ? `Total of the ${counted(count, 'queue', 'queues')} below (there are more)`
    : `Total of ${count === 1 ? '1 queue' : `all ${count.toLocaleString('en')} queues`}`;
}

function soFarText(known: number, queues: { shown: readonly unknown[] } | undefined): string {
  return queues === undefined
    ? 'Not counted yet.'
    : `Incomplete: ${known} of ${counted(queues.shown.length, 'queue', 'queues')} counted so far.`;
}

function buildTiles({ summary, retrying, latenessMs }: ReturnType<typeof sumFigures>): Tile[] {
  const count = (of: (total: Counts) => number): string =>
    summary === undefined ? 'not counted' : of(summary.total).toLocaleString('en');
  const rate = successRate(summary?.total);
  return [
    ['Messages', count(({ messages }) => messages)],
    ['Delivered', count(({ delivered }) => delivered)],
    ['Failed', count(failedIn)],
    ['Successful attempts', rate === null ? 'none yet' : percentText(rate)],
    ['Retrying', `${retrying.count.toLocaleString('en')}${retrying.more ? '+' : ''}`],
    latenessMs < LATE_MS
      ? ['Retries', 'on time']
      : ['Retries', `${durationText(latenessMs)} late`, 'tone-retrying'],
  ];
}

const LOADING_TILES = buildTiles(sumFigures([])).map(([name]): Tile => [name, <LoadingFigure />]);

/** The health of the deployment: failed checks, overdue retries and dead letters. */
function ServiceHealth({ health }: { health: Live<Health> }) {
  if (health.failure !== undefined) return <Failure of={health.failure} />;
  return (
    <div class="health">
      {health.value === undefined ? (
        <p class="muted">Checking the health of the deployment.</p>
      ) : (
        <Report health={health.value} />
      )}
    </div>
  );
}

function Report({ health }: { health: Health }) {
  const warnings = warningsIn(health);
  const notices = health.queues?.['undeliverable'] ?? 0;
  return (
    <>
      {warnings.length === 0 ? (
        <p class="health-well">
          <span class="tone-delivered">The service is healthy.</span> No retry is overdue, and there are no
          dead letters.
        </p>
      ) : (
        <Notice tone="warning" title="Needs attention">
          <ul>
            {warnings.map((warning, index) => (
              <li key={index}>{warning}</li>
            ))}
          </ul>
        </Notice>
      )}
      {notices === 0 ? null : (
        <p class="muted">
          About {counted(notices, 'undeliverable notice', 'undeliverable notices')}.{' '}
          <DeadLetterLink which="undeliverable">See which are settled</DeadLetterLink>
        </p>
      )}
    </>
  );
}

function warningsIn({ checks, queues = {}, overdue = 0 }: Health): ComponentChildren[] {
  return [
    ...Object.entries(checks)
      .filter(([, state]) => state === 'failing')
      .map(([name]) => `Not available: ${inWords(name)}.`),
    ...(overdue > 0 ? [overdueText(overdue)] : []),
    ...Object.entries(queues)
      .filter(([name, count]) => count > 0 && name.endsWith('DeadLetters'))
      .map(([name, count]) => deadLetterText(name, count)),
  ];
}

function deadLetterText(name: string, count: number) {
  const which = REDRIVEN_QUEUES.find((queue) => HEALTH_NAMES[queue] === name);
  return (
    <>
      About {count} in the queue of {inWords(name)}
      {which === undefined ? (
        ': find the cause, then purge it. reconcile has already started these retries.'
      ) : (
        <>
          : find the cause, then redrive them. <DeadLetterLink which={which}>Show them</DeadLetterLink>
        </>
      )}
    </>
  );
}

function DeadLetterLink({ which, children }: { which: string; children: string }) {
  return <a href={hrefTo({ page: 'dead-letters', query: { which } })}>{children}</a>;
}

function overdueText(overdue: number): string {
  if (overdue === 1) return '1 retry is overdue.';
  return `${overdue === 1000 ? '1000 or more' : overdue} retries are overdue.`;
}

/** `ingress dead letters` for `ingressDeadLetters`. */
function inWords(name: string): string {
  if (name === 'queues') return 'queue counts';
  return name.replaceAll(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);
}
