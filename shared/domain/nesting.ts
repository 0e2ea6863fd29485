/**
 * Whether a JSON value holds others over so many levels deep; a scalar has none. Iterative, because it is asked of what may
 * be nested without end, before anything that recurses, such as JSON.stringify, may touch it.
 */
export const isDeeperThan = (value: unknown, levels: number): boolean => {
  const open = [{ value, depth: 0 }];
  for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
    if (typeof entry.value !== 'object' || entry.value === null) continue;
    const depth = entry.depth + 1;
    if (depth > levels) return true;
    const inners: unknown[] = Object.values(entry.value);
    // One by one: as arguments of one call, a long list would exhaust the stack.
    for (const inner of inners) open.push({ value: inner, depth });
  }
  return false;
};
