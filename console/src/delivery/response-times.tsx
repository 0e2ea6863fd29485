import { useMemo } from 'preact/hooks';
import type { SubscriptionDeliveryView } from '../../../shared/wire/views/delivery.ts';
import { Chart, DURATION_VALUES, timeChart } from '../parts/chart.tsx';
import { Facts } from '../parts/facts.tsx';
import { durationText } from '../parts/time-text.ts';

/** A chart of the response time of each delivery’s last attempt. Nothing where none is known. */
export function ResponseTimes({ deliveries }: { deliveries: readonly SubscriptionDeliveryView[] }) {
  const times = useMemo(() => responseTimes(deliveries), [deliveries]);
  const data = useMemo((): [number[], (number | null)[], (number | null)[]] => {
    const of = (succeeded: boolean) =>
      times.map((time) => (time.succeeded === succeeded ? time.durationMs : null));
    return [times.map(({ at }) => at / 1000), of(true), of(false)];
  }, [times]);
  if (times.length === 0) return null;
  const durations = times.map(({ durationMs }) => durationMs);
  const delivered = deliveries.flatMap(({ deliveredAfterMs }) => deliveredAfterMs ?? []);
  const [median, slow] = [quantile(durations, 0.5), quantile(durations, 0.95)].map(durationText);
  return (
    <div class="stack">
      <Facts
        facts={[
          ['Response times', times.length],
          ['Median', median],
          ['p95', slow],
          ['Maximum', durationText(Math.max(...durations))],
          [
            'Median until delivered',
            delivered.length === 0 ? undefined : durationText(quantile(delivered, 0.5)),
          ],
        ]}
      />
      <Chart
        options={OPTIONS}
        data={data}
        height={180}
        label={`Response times of the last attempts of ${times.length} deliveries: median ${median ?? ''}, p95 ${slow ?? ''}`}
      />
      <ul class="legend">
        <li class="tone-delivered">
          <span class="dot" /> delivered
        </li>
        <li class="tone-rejected">
          <span class="dot dot-hollow" /> failed or rejected
        </li>
      </ul>
    </div>
  );
}

const OPTIONS = timeChart({
  ...DURATION_VALUES,
  series: (colour) => [
    {
      stroke: colour('delivered'),
      paths: () => null,
      points: { show: true, size: 7, fill: colour('delivered') },
    },
    {
      stroke: colour('rejected'),
      paths: () => null,
      points: { show: true, size: 8, width: 2, fill: colour('surface') },
    },
  ],
});

/** The response time of each delivery's last attempt, in order of time. Milliseconds, `at` since the epoch. */
export function responseTimes(
  deliveries: readonly Pick<SubscriptionDeliveryView, 'lastAttempt' | 'durationMs'>[],
) {
  return deliveries
    .flatMap(({ lastAttempt, durationMs }) => {
      if (lastAttempt === undefined || durationMs === undefined) return [];
      const { startedAt, outcome } = lastAttempt;
      return [{ at: Date.parse(startedAt), durationMs, succeeded: outcome === 'delivered' }];
    })
    .sort((one, other) => one.at - other.at);
}

/** The nearest-rank quantile: the smallest value with at least `share` of the values at or below it. Default 0. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? 0;
}
