import { describe, expect, it } from 'vitest';
import { heapBytesOf } from '../../../shared/adapters/read-cache.ts';

const MIB = 1024 * 1024;

describe('the estimated size of a value in memory', () => {
  it.each([
    ['a long text', 'x'.repeat(MIB), 2 * MIB],
    ['a long name', { ['x'.repeat(MIB)]: 1 }, 2 * MIB],
    ['many small objects', Array.from({ length: 10_000 }, () => ({})), 10_000 * 64],
    ['many numbers', Array.from({ length: 10_000 }, (_, n) => n), 10_000 * 8],
    ['many short texts', { list: Array.from({ length: 10_000 }, (_, n) => `${n}`) }, 10_000 * 32],
  ])('is at least what %s needs, and less than five times that', (_name, value, bytes) => {
    expect(heapBytesOf(value)).toBeGreaterThanOrEqual(bytes);
    expect(heapBytesOf(value)).toBeLessThan(5 * bytes);
  });

  it('is greater than zero for empty values', () => {
    for (const value of [null, true, 0, '', [], {}]) expect(heapBytesOf(value)).toBeGreaterThan(0);
  });

  it('is computed for values nested deeper than the stack', () => {
    let nested: unknown = 1;
    for (let depth = 0; depth < 100_000; depth += 1) nested = [nested];
    expect(heapBytesOf(nested)).toBeGreaterThan(100_000 * 64);
  });
});
