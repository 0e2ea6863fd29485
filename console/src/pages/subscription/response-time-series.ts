import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';

/** Milliseconds, `at` since the epoch. */
export type ResponseTime = { at: number; durationMs: number; succeeded: boolean };

/** The response times of all attempts, in order of time. */
export function responseTimes(deliveries: readonly Pick<DeliveryView, 'attempts'>[]): ResponseTime[] {
  return deliveries
    .flatMap(({ attempts }) => attempts)
    .map(({ startedAt, durationMs, outcome }) => ({
      at: Date.parse(startedAt),
      durationMs,
      succeeded: outcome === 'delivered',
    }))
    .sort((one, other) => one.at - other.at);
}

/** The nearest-rank quantile: the smallest value with at least `share` of the values at or below it. Default 0. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? 0;
}
