/** A point: how many records an invocation had, and what was measured of it. */
export type Point = { records: number; value: number };

/**
 * What an invocation costs by itself, whatever its records: the height at 0 of the straight line through the points (least
 * squares), never below 0. With points of one size only there is no such line, and nothing is ascribed to the invocation.
 */
export const atNoRecords = (points: readonly Point[]): number => {
  const mean = (value: (point: Point) => number): number =>
    points.reduce((total, point) => total + value(point), 0) / points.length;
  if (points.length === 0) return 0;
  const [records, values] = [mean((point) => point.records), mean(({ value }) => value)];
  const spread = mean((point) => (point.records - records) ** 2);
  if (spread === 0) return 0;
  const slope = mean((point) => (point.records - records) * (point.value - values)) / spread;
  return Math.max(0, values - slope * records);
};
