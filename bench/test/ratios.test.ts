import { describe, expect, it } from 'vitest';
import { compared, ratiosIn } from '../harness/figures.ts';

const deliver = { name: 'deliver', ratio: 1.2, tolerance: 0.1 };

describe('the ratios of a result', () => {
  it('are its own, where it is one', () => {
    expect(ratiosIn({ ...deliver, measuredAt: 'now' })).toEqual([deliver]);
  });

  it('are those that it lists', () => {
    const api = { ...deliver, name: 'api' };
    expect(ratiosIn({ name: 'cold', ratios: [{ ...deliver, bundleBytes: 1 }, api] })).toEqual([deliver, api]);
  });

  it('are not guessed where there are none', () => {
    expect(() => ratiosIn({ name: 'cold', ratios: [] })).toThrow();
    expect(() => ratiosIn({ name: 'cold' })).toThrow();
  });
});

describe('a ratio beside the kept one', () => {
  const isOk = (now: number): boolean | undefined => compared([deliver], [{ ...deliver, ratio: now }])[0]?.ok;

  it('is no worse within its tolerance, which is a part of the kept one', () => {
    expect([isOk(0.5), isOk(1.2), isOk(1.319)]).toEqual([true, true, true]);
  });

  it('is worse beyond it', () => {
    expect(isOk(1.321)).toBe(false);
  });

  it('is held against the tolerance that was kept, not against a new one', () => {
    const [line] = compared([deliver], [{ ...deliver, ratio: 1.5, tolerance: 9 }]);
    expect(line).toEqual({ name: 'deliver', kept: 1.2, now: 1.5, tolerance: 0.1, ok: false });
  });

  it('is worse when it is not measured any more', () => {
    expect(compared([deliver], [])).toMatchObject([{ name: 'deliver', now: Number.NaN, ok: false }]);
  });
});
