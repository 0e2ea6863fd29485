import type { SubscriptionDeliveryView } from '../../../../shared/wire/views/delivery.ts';

/** Milliseconds, `at` since the epoch. */
export type ResponseTime = { at: number; durationMs: number; succeeded: boolean };

/** The response time of each delivery's last attempt, in order of time. */
export function responseTimes(
  deliveries: readonly Pick<SubscriptionDeliveryView, 'lastAttempt' | 'durationMs'>[],
): ResponseTime[] {
  return deliveries
    .flatMap(({ lastAttempt, durationMs }) =>
      lastAttempt === undefined || durationMs === undefined
        ? []
        : [
            {
              at: Date.parse(lastAttempt.startedAt),
              durationMs,
              succeeded: lastAttempt.outcome === 'delivered',
            },
          ],
    )
    .sort((one, other) => one.at - other.at);
}

/** The nearest-rank quantile: the smallest value with at least `share` of the values at or below it. Default 0. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? 0;
}
