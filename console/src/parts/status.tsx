import type { ComponentChildren } from 'preact';
import type { ListedDelivery } from '../../../api-client/operations.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';

/** A status of a delivery or an attempt. */
export type ShownStatus =
  | DeliveryView['status']
  | DeliveryView['attempts'][number]['outcome']
  | 'planned'
  | 'paused';

/** A shape for each status, so that colour is not the only difference. */
const SHAPES: Record<ShownStatus, string> = {
  delivered: 'M3 8.5 6.5 12 13 4.5',
  failed: 'M8 3v6M8 12.4v.2',
  retrying: 'M12.7 6.2A5 5 0 1 0 13 9M13 3v3.4H9.6',
  pending: 'M8 4v4l2.6 1.6',
  rejected: 'M4 4l8 8M12 4l-8 8',
  exhausted: 'M3.5 12.5l9-9M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2',
  cancelled: 'M3.5 8h9',
  paused: 'M6 4v8M10 4v8',
  planned: 'M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7',
};

/** `none`: the message did not match the subscription, or its delivery is not recorded yet. */
export type SparkStatus = DeliveryView['status'] | 'none';

/** Heights of the bars in a sparkline, so that statuses differ by more than colour. */
const SPARK_HEIGHTS: Record<SparkStatus, number> = {
  delivered: 18,
  pending: 8,
  retrying: 11,
  rejected: 18,
  exhausted: 18,
  cancelled: 6,
  none: 2,
};

export function Status({ of, reason }: { of: ShownStatus; reason?: string | undefined }) {
  return <StatusText tone={of} text={of} reason={reason?.replaceAll('_', ' ')} />;
}

export type ShownState = {
  /** A status with the same colour. */
  tone: ShownStatus;
  /** A status with the same shape. @default that of the colour */
  glyph?: ShownStatus;
  text: ComponentChildren;
  reason?: ComponentChildren;
};

/** A state in the colour and with the shape of a status. */
export function StatusText({ tone, glyph = tone, text, reason }: ShownState) {
  return (
    <span class={`status tone-${tone}`}>
      <svg class="glyph" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        <path d={SHAPES[glyph]} />
      </svg>
      <span>{text}</span>
      {reason === undefined ? null : <span class="status-reason">{reason}</span>}
    </span>
  );
}

const WIDTH = 6;
const HEIGHT = 20;

/** The outcomes of the last messages, newest on the right. */
export function Sparkline({ sparks, places }: { sparks: readonly SparkStatus[]; places: number }) {
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={describeSparks(sparks)}
      width={places * (WIDTH + 1)}
      height={HEIGHT}
      viewBox={`0 0 ${places * (WIDTH + 1)} ${HEIGHT}`}
    >
      {sparks.map((spark, index) => {
        const height = SPARK_HEIGHTS[spark];
        return (
          <rect
            key={index}
            class={`bar tone-${spark}`}
            x={(places - sparks.length + index) * (WIDTH + 1)}
            y={HEIGHT - height}
            width={WIDTH}
            height={height}
            rx="1"
            {...((spark === 'rejected' || spark === 'exhausted') && { 'stroke-dasharray': '2 1.5' })}
          />
        );
      })}
    </svg>
  );
}

function describeSparks(sparks: readonly SparkStatus[]): string {
  const counts = Object.entries(Object.groupBy(sparks, (spark) => spark)).filter(
    ([spark]) => spark !== 'none',
  );
  if (counts.length === 0) return 'No recent deliveries';
  return `Recent deliveries: ${counts.map(([spark, all]) => `${all.length} ${spark}`).join(', ')}`;
}

/** The status code or the error of the last attempt, if there is one. */
export function lastResponse(delivery?: Pick<ListedDelivery, 'lastAttempt'>): string | number {
  return delivery?.lastAttempt?.statusCode ?? delivery?.lastAttempt?.error ?? '';
}
