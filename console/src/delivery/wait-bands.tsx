import type { DeliveryDetail } from '../../../api-client/operations.ts';
import { WAIT_LABELS, waitsSoFar, waitsText } from '../../../api-client/words.ts';
import type { WaitReason } from '../../../shared/domain/delivery/vocabulary.ts';
import type { WaitView } from '../../../shared/wire/views/delivery.ts';

type Attempt = DeliveryDetail['attempts'][number];

/** A wait before an attempt, on the time axis. Milliseconds since the epoch. */
export type Band = Pick<Attempt, 'number' | 'phase'> & { reason: WaitReason; from: number; to: number };

export type Waited = Pick<DeliveryDetail, 'attempts'> & Partial<Pick<DeliveryDetail, 'nextAttempt'>>;

/** The waits of all attempts, and those of the next one until `now`. */
export function waitBands({ attempts, nextAttempt }: Waited, now: number): Band[] {
  const made = attempts.flatMap((attempt) =>
    bandsUntil(Date.parse(attempt.startedAt), attempt, attempt.waited ?? []),
  );
  if (nextAttempt === undefined) return made;
  const { waiting, dueAt } = nextAttempt;
  const end = waiting === undefined ? Math.min(now, Date.parse(dueAt)) : now;
  return [...made, ...bandsUntil(end, nextAttempt, waitsSoFar(nextAttempt, now))];
}

/** The waits follow each other, and the last one ends at `end`. */
function bandsUntil(
  end: number,
  { number, phase }: Pick<Attempt, 'number' | 'phase'>,
  waits: readonly WaitView[],
): Band[] {
  let from = waits.reduce((start, { ms }) => start - ms, end);
  return waits.map(({ reason, ms }) => {
    const band = { number, phase, reason, from, to: from + ms };
    from = band.to;
    return band;
  });
}

/** All waits of a delivery, in words. Undefined: there were none. */
export function allWaitsText({ attempts, nextAttempt }: Waited, now: number): string | undefined {
  const made = attempts.flatMap(({ waited = [] }) => waited);
  return waitsText([...made, ...(nextAttempt === undefined ? [] : waitsSoFar(nextAttempt, now))]);
}

const COLOURS: Readonly<Record<WaitReason, string>> = {
  rate_limited: 'blue',
  receiver_throttled: 'orange',
  circuit_open: 'purple',
  pull: 'green',
  paused: 'gray',
  lag: 'red',
};

const HEIGHT = 22;
const LETTER = 7;

/** The label is left out where it does not fit; the title and the table say the same. */
export function WaitBand({ band, x, width, y }: { band: Band; x: number; width: number; y: number }) {
  const { number, reason, from, to } = band;
  const label = WAIT_LABELS[reason];
  const isWide = width > label.length * LETTER + 8;
  return (
    <g class={`wait series-${COLOURS[reason]}`} data-wait={reason}>
      <title>{`Attempt ${number} waited ${waitsText([{ reason, ms: to - from }]) ?? label}`}</title>
      <rect class="band" x={x} y={y - HEIGHT / 2} width={width} height={HEIGHT} />
      {isWide ? (
        <text x={Math.max(x, 0) + 4} y={y + 4}>
          {label}
        </text>
      ) : null}
    </g>
  );
}

/** The reasons that occur, as items of the legend. */
export function WaitLegend({ bands }: { bands: readonly Band[] }) {
  const reasons = [...new Set(bands.map(({ reason }) => reason))];
  return reasons.map((reason) => (
    <li key={reason} class={`series-${COLOURS[reason]}`}>
      <span class="swatch swatch-wait" /> waited: {WAIT_LABELS[reason]}
    </li>
  ));
}
