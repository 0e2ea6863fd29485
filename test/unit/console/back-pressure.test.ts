import { describe, expect, it } from 'vitest';
import { pressureState } from '../../../api-client/words.ts';
import { pressureWords } from '../../../console/src/parts/back-pressure.ts';

const since = '2026-11-21T12:00:00.000Z';

describe('the words for back-pressure', () => {
  it.each([
    ['circuit open', { reason: 'circuit_open' }, 'one request at a time'],
    ['slowed', { reason: 'circuit_open', perSecond: 4 }, 'at most 4 requests a second'],
    [
      'throttled',
      { reason: 'receiver_throttled', perSecond: 0.5 },
      '429, or 503 with Retry-After. It gets at most 0.5',
    ],
  ] as const)('call a subscription %s, and say what it means', (state, pressure, meaning) => {
    const words = pressureWords({ ...pressure, since });
    expect(pressureState({ ...pressure, since })).toBe(state);
    expect(words.detail).toContain(meaning);
    expect(words.detail).toContain('uses none of their attempts');
  });
});
