import type { JSX } from 'preact';
import { durationText } from '../../parts/time-text.ts';
import { LATE_MS, rateText, totalOf, type QueueStanding } from './queue-standing.ts';

type Tile = readonly [name: string, text: string, tone?: string];

const WAITING: readonly Tile[] = [
  ['In, a minute', '·'],
  ['Delivered in 5 min', '·'],
  ['Failed in 5 min', '·'],
  ['Pending', '·'],
  ['Retries', '·'],
];

/** All queues that are shown, in a few figures. */
export const Totals = ({ standings }: { standings: readonly QueueStanding[] }): JSX.Element => (
  <dl class="tiles">
    {(standings.length === 0 ? WAITING : tilesOf(totalOf(standings))).map(([name, text, tone = '']) => (
      <div key={name} class="tile">
        <dt>{name}</dt>
        <dd class={tone}>{text}</dd>
      </div>
    ))}
  </dl>
);

const tilesOf = ({
  perMinute,
  delivered,
  failed,
  pending,
  latenessMs,
}: ReturnType<typeof totalOf>): Tile[] => [
  ['In, a minute', rateText(perMinute)],
  ['Delivered in 5 min', delivered.toLocaleString('en')],
  ['Failed in 5 min', failed.toLocaleString('en'), failed > 0 ? 'tone-rejected' : ''],
  ['Pending', `${pending.count.toLocaleString('en')}${pending.more ? '+' : ''}`],
  latenessMs < LATE_MS
    ? ['Retries', 'on time']
    : ['Retries', `${durationText(latenessMs)} late`, 'tone-retrying'],
];
