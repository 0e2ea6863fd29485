import type { ComponentChildren } from 'preact';
import type { Health } from '../../../../api-client/operations.ts';
import { counted } from '../../../../api-client/words.ts';
import type { Live } from '../../live/use-live.ts';
import { LoadingFigure } from '../../parts/loaded.tsx';
import { durationText } from '../../parts/time-text.ts';
import { percentText } from '../../statistics/chart-kinds.ts';
import { WINDOWS, type Counts, type WindowName, failedIn, successRate } from '../../statistics/series.ts';
import { LATE_MS, totalOf, waitingIn } from './queue-figures.ts';
import type { ShownQueue } from './queue-table.tsx';

type Tile = readonly [name: string, text: ComponentChildren, tone?: string];

/** The totals of the queues on this page. `queues`: undefined until they have loaded. */
export function Totals({
  queues,
  window,
  health,
}: {
  queues: { shown: readonly ShownQueue[]; more: boolean } | undefined;
  window: WindowName;
  health: Live<Health>;
}) {
  const known = (queues?.shown ?? []).flatMap(({ value }) => value ?? []);
  const isWhole = known.length === queues?.shown.length;
  const tiles = isWhole || known.length > 0 ? tilesOf(totalOf(known)) : LOADING_TILES;
  return (
    <div class="totals">
      <dl class={isWhole ? 'tiles' : 'tiles tiles-incomplete'}>
        {[...tiles, waitingTile(health)].map(([name, text, tone = '']) => (
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

/** Messages and deliveries that still wait in SQS have no record yet, so no other figure includes them. */
function waitingTile({ value, failure }: Live<Health>): Tile {
  return [
    'Waiting in SQS',
    value === undefined ? (
      failure === undefined ? (
        <LoadingFigure />
      ) : (
        'unknown'
      )
    ) : (
      (waitingIn(value)?.toLocaleString('en') ?? 'unknown')
    ),
  ];
}

function tilesOf({ summary, retrying, latenessMs }: ReturnType<typeof totalOf>): Tile[] {
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

const LOADING_TILES = tilesOf(totalOf([])).map(([name]): Tile => [name, <LoadingFigure />]);
