import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_SECRETS,
  rotateSecrets,
  type SealedSecret,
  secretsInForce,
} from '../../../shared/domain/subscription/signing-secret.ts';

const NOW = 1_790_000_000_000;
const HOUR = 3_600_000;

const rotated = (secrets: readonly SealedSecret[], sealed: string, now: number, graceMs: number) => {
  const rotation = rotateSecrets(secrets, { sealed }, { now, graceMs });
  if (rotation.kind !== 'rotated') throw new Error('There are too many secrets.');
  return rotation;
};

const namesAt = (secrets: readonly SealedSecret[], now: number): string[] =>
  secretsInForce(secrets, now).map(({ sealed }) => sealed);

describe('a replaced secret', () => {
  it('is in force until the exact end of its grace period', () => {
    const { secrets, previousExpiresAt } = rotated([{ sealed: 'old' }], 'new', NOW, 24 * HOUR);
    expect(previousExpiresAt).toBe(NOW + 24 * HOUR);
    expect(namesAt(secrets, NOW)).toEqual(['new', 'old']);
    expect(namesAt(secrets, NOW + 24 * HOUR - 1)).toEqual(['new', 'old']);
    expect(namesAt(secrets, NOW + 24 * HOUR)).toEqual(['new']);
  });

  it('ends at once with a grace of 0', () => {
    expect(rotated([{ sealed: 'old' }], 'new', NOW, 0)).toEqual({
      kind: 'rotated',
      secrets: [{ sealed: 'new' }],
      previousExpiresAt: NOW,
    });
  });

  it('keeps its end if the next grace is longer, and ends earlier if that is shorter', () => {
    const first = rotated([{ sealed: 'a' }], 'b', NOW, HOUR).secrets;
    expect(rotated(first, 'c', NOW + 1, 2 * HOUR).secrets).toEqual([
      { sealed: 'c' },
      { sealed: 'b', expiresAt: NOW + 1 + 2 * HOUR },
      { sealed: 'a', expiresAt: NOW + HOUR },
    ]);
    expect(rotated(first, 'c', NOW + 1, 5).secrets).toEqual([
      { sealed: 'c' },
      { sealed: 'b', expiresAt: NOW + 6 },
      { sealed: 'a', expiresAt: NOW + 6 },
    ]);
  });

  it('is removed after its grace period', () => {
    const first = rotated([{ sealed: 'a' }], 'b', NOW, HOUR).secrets;
    expect(namesAt(rotated(first, 'c', NOW + HOUR, HOUR).secrets, 0)).toEqual(['c', 'b']);
  });
});

describe('a first secret', () => {
  it('replaces nothing', () => {
    expect(rotated([], 'new', NOW, HOUR)).toEqual({ kind: 'rotated', secrets: [{ sealed: 'new' }] });
  });
});

describe('too many secrets', () => {
  const full = (): readonly SealedSecret[] => {
    let secrets: readonly SealedSecret[] = [{ sealed: '1' }];
    for (let count = 2; count <= MAX_SECRETS; count += 1)
      secrets = rotated(secrets, String(count), NOW + count, HOUR).secrets;
    return secrets;
  };

  it('are refused with the time at which one expires', () => {
    expect(full()).toHaveLength(MAX_SECRETS);
    expect(rotateSecrets(full(), { sealed: 'more' }, { now: NOW + 10, graceMs: HOUR })).toEqual({
      kind: 'too_many',
      until: NOW + 2 + HOUR,
    });
    expect(rotateSecrets(full(), { sealed: 'more' }, { now: NOW + 2 + HOUR, graceMs: HOUR }).kind).toBe(
      'rotated',
    );
  });

  it('do not prevent a rotation with a grace of 0, which ends all but the new one', () => {
    expect(rotated(full(), 'new', NOW + 10, 0).secrets).toEqual([{ sealed: 'new' }]);
  });
});

describe('after any rotations', () => {
  const steps = fc.array(fc.record({ after: fc.nat(100), grace: fc.nat(300) }), { maxLength: 30 });

  it('only the newest secret, the first, has no end, and the number stays within the limit', () => {
    fc.assert(
      fc.property(steps, (taken) => {
        let secrets: readonly SealedSecret[] = [];
        let now = NOW;
        let newest = -1;
        for (const [index, { after, grace }] of taken.entries()) {
          now += after;
          const rotation = rotateSecrets(secrets, { sealed: String(index) }, { now, graceMs: grace });
          if (rotation.kind === 'too_many') {
            expect(rotation.until).toBeGreaterThan(now);
            continue;
          }
          ({ secrets } = rotation);
          newest = index;
          const [current, ...replaced] = secrets;
          expect(current).toEqual({ sealed: String(newest) });
          expect(secrets.length).toBeLessThanOrEqual(MAX_SECRETS);
          for (const { expiresAt } of replaced) {
            expect(expiresAt).toBeGreaterThan(now);
            expect(expiresAt).toBeLessThanOrEqual(now + grace);
          }
        }
      }),
    );
  });
});
