import type { ComponentChildren, JSX } from 'preact';
import type { Health } from '../../../../cli/api/service.ts';
import type { Listed } from '../../api/listed.ts';
import type { Live } from '../../live/use-live.ts';
import { LoadingFigure } from '../../parts/loading-figure.tsx';
import { counted } from '../../parts/counted.ts';
import { durationText } from '../../parts/time-text.ts';
import { LATE_MS, rateText, totalOf, waitingIn, type QueueFigures } from './queue-figures.ts';

type Tile = readonly [name: string, text: ComponentChildren, tone?: string];

/** The totals of the queues on this page. `queues`: undefined until they have loaded. */
export function Totals({
  queues,
  figuresByQueue,
  health,
}: {
  queues: Listed<{ name: string }> | undefined;
  figuresByQueue: ReadonlyMap<string, QueueFigures>;
  health: Live<Health>;
}): JSX.Element {
  const names = queues?.items.map(({ name }) => name);
  const known = knownOf(names, figuresByQueue);
  const isWhole = known.length === names?.length;
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
        {isWhole ? wholeText(known.length, queues) : soFarText(known.length, names?.length)}
      </p>
    </div>
  );
}

function knownOf(
  names: readonly string[] | undefined,
  figuresByQueue: ReadonlyMap<string, QueueFigures>,
): QueueFigures[] {
  return (names ?? []).flatMap((name) => figuresByQueue.get(name) ?? []);
}

function wholeText(count: number, queues: Listed<unknown> | undefined): string {
  return queues?.more === true
    ? `Total of the ${counted(count, 'queue', 'queues')} below; there are more.`
    : `Total of ${count === 1 ? '1 queue' : `all ${count.toLocaleString('en')} queues`}.`;
}

function soFarText(known: number, count: number | undefined): string {
  return count === undefined
    ? 'Not counted yet.'
    : `Incomplete: ${known} of ${counted(count, 'queue', 'queues')} counted so far.`;
}

/** Messages and deliveries that still wait in SQS have no record yet, so `pending` does not include them. */
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

function tilesOf({ perMinute, delivered, failed, pending, latenessMs }: ReturnType<typeof totalOf>): Tile[] {
  return [
    ['Messages per minute', rateText(perMinute)],
    ['Delivered in 5 min', delivered.toLocaleString('en')],
    ['Failed in 5 min', failed.toLocaleString('en'), failed > 0 ? 'tone-rejected' : ''],
    ['Pending', `${pending.count.toLocaleString('en')}${pending.more ? '+' : ''}`],
    latenessMs < LATE_MS
      ? ['Retries', 'on time']
      : ['Retries', `${durationText(latenessMs)} late`, 'tone-retrying'],
  ];
}

const LOADING_TILES = tilesOf(totalOf([])).map(([name]): Tile => [name, <LoadingFigure />]);
