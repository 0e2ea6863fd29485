import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';

/** Milliseconds, `at` since the epoch. */
export type ResponseTime = { at: number; durationMs: number; succeeded: boolean };

/** Every attempt of some deliveries, in the order that they were made in. */
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

/** The nearest-rank quantile: the smallest value that so large a share of all is not above. 0 of nothing. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? 0;
}
