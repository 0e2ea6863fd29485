import { describe, expect, it } from 'vitest';
import { compared, ratiosIn } from '../harness/figures.ts';

const deliver = { name: 'deliver', ratio: 1.2, tolerance: 0.1 };

describe('the ratios of a result', () => {
  it('are those that it lists, and are not guessed where there are none', () => {
    const api = { ...deliver, name: 'api' };
    expect(ratiosIn({ name: 'cold', ratios: [{ ...deliver, bundleBytes: 1 }, api] })).toEqual([deliver, api]);
    expect(() => ratiosIn({ name: 'cold', ratios: [] })).toThrow();
    expect(() => ratiosIn({ name: 'cold' })).toThrow();
  });
});

describe('a ratio beside the kept one', () => {
  const isOk = (now: number): boolean | undefined => compared([deliver], [{ ...deliver, ratio: now }])[0]?.ok;

  it('is worse beyond its tolerance, which is a part of the kept one', () => {
    expect([0.5, 1.2, 1.319, 1.321].map(isOk)).toEqual([true, true, true, false]);
  });

  it('is held against the tolerance that was kept, not against a new one', () => {
    const [line] = compared([deliver], [{ ...deliver, ratio: 1.5, tolerance: 9 }]);
    expect(line).toEqual({ name: 'deliver', kept: 1.2, now: 1.5, tolerance: 0.1, ok: false });
  });

  it('is worse when it is not measured any more', () => {
    expect(compared([deliver], [])).toMatchObject([{ name: 'deliver', now: Number.NaN, ok: false }]);
  });
});
