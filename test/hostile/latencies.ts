/** Milliseconds. `waited`: from the queue to the request; `done`: from the queue to the record of the first attempt. */
export type Latency = { waitedMs: number; doneMs: number };

type Quantiles = { p50: number; p99: number };

export type Latencies = { deliveries: number; waited: Quantiles; done: Quantiles };

export const latenciesOf = (all: readonly Latency[]): Latencies => ({
  deliveries: all.length,
  waited: quantilesOf(all.map(({ waitedMs }) => waitedMs)),
  done: quantilesOf(all.map(({ doneMs }) => doneMs)),
});

/** Nearest-rank quantiles. */
const quantilesOf = (values: readonly number[]): Quantiles => {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (part: number): number => sorted[Math.ceil(part * sorted.length) - 1] ?? NaN;
  return { p50: at(0.5), p99: at(0.99) };
};
