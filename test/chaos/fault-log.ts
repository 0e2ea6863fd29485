/** The faults that a run injected. Times are milliseconds since the epoch. */
export type FaultLog = {
  count: (kind: string, times?: number) => void;
  counts: () => Record<string, number>;
  /** Notes that a worker of a function was killed now. */
  killed: () => void;
  /** Notes that a call about these messages failed now. */
  failed: (messageIds: Iterable<string>) => void;
  wasKilledBetween: (from: number, to: number) => boolean;
  hasFailedBetween: (messageId: string, from: number, to: number) => boolean;
};

export const faultLog = (now = Date.now): FaultLog => {
  const counts = new Map<string, number>();
  const kills: number[] = [];
  const failures = new Map<string, number[]>();
  const isBetween = (times: readonly number[], from: number, to: number): boolean =>
    times.some((time) => time >= from && time <= to);

  return {
    count: (kind, times = 1) => void counts.set(kind, (counts.get(kind) ?? 0) + times),
    counts: () => Object.fromEntries([...counts].sort(([one], [other]) => one.localeCompare(other))),
    killed: () => void kills.push(now()),
    failed: (messageIds) => {
      for (const id of messageIds) failures.set(id, [...(failures.get(id) ?? []), now()]);
    },
    wasKilledBetween: (from, to) => isBetween(kills, from, to),
    hasFailedBetween: (messageId, from, to) => isBetween(failures.get(messageId) ?? [], from, to),
  };
};
