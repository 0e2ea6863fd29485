/** How often which fault was injected. */
export type FaultTally = {
  count: (kind: string, times?: number) => void;
  counts: () => Record<string, number>;
};

export const faultTally = (): FaultTally => {
  const counts = new Map<string, number>();
  return {
    count: (kind, times = 1) => void counts.set(kind, (counts.get(kind) ?? 0) + times),
    counts: () => Object.fromEntries([...counts].sort(([one], [other]) => one.localeCompare(other))),
  };
};
