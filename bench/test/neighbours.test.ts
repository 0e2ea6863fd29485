import { describe, expect, it } from 'vitest';
import { measureQuiet, type Neighbourhood, type Quiet } from '../neighbours/virtual.ts';
import { CONCURRENCY } from '../storm/world.ts';

const SECONDS = 10;

/** Too few functions for the noise. */
const FEW = { dispatch: 2, deliver: 2, retry: 2 };

const dead = { messages: 300, withinSeconds: 1, statusCode: 500, takesMs: 20 };

const beside = (more: Partial<Neighbourhood> = {}): Promise<Quiet> =>
  measureQuiet({ seconds: SECONDS, watchedSeconds: 60, concurrency: FEW, isFair: true, ...more });

describe('quiet queues', () => {
  it('wait at most twice as long for first attempts beside a dead, limited subscriber', async () => {
    const noise = { ...dead, withinSeconds: SECONDS, maxPerSecond: 5 };
    const [alone, noisy] = [
      await beside({ concurrency: CONCURRENCY }),
      await beside({ concurrency: CONCURRENCY, noise }),
    ];

    expect(noisy.waits.p95).toBeLessThanOrEqual(2 * alone.waits.p95);
  });

  it('wait much longer beside many messages at once without groups than with them', async () => {
    const [alone, fair, unfair] = [
      await beside(),
      await beside({ noise: dead }),
      await beside({ noise: dead, isFair: false }),
    ];

    expect(fair.waits.p95).toBeLessThanOrEqual(5 * alone.waits.p95);
    expect(unfair.waits.p95).toBeGreaterThan(5 * fair.waits.p95);
  });
});

it('a message that waits in a limited line takes few calls of AWS', async () => {
  const noise = { ...dead, maxPerSecond: 0.02 };
  const [alone, noisy] = [await beside(), await beside({ noise })];

  expect((noisy.calls - alone.calls) / noise.messages).toBeLessThan(10.5);
});
