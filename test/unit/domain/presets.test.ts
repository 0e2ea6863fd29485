import { describe, expect, it } from 'vitest';
import {
  completePolicySchema,
  DEFAULT_RETRY_POLICY,
  RETRY_POLICY_PRESETS,
} from '../../../shared/domain/retry/policy.ts';
import { parseDefaultRetryPolicy, parseRetryPolicy } from '../../../shared/domain/retry/policy-schema.ts';
import { meanSeconds, retrySchedule, totalSeconds } from '../../../shared/domain/retry/schedule.ts';
import { POLICY_PRESETS } from '../../../shared/domain/retry/vocabulary.ts';

const DAY = 86_400;

const refused = (message: string) => ({ ok: false, fields: [{ field: '_retry_policy', message }] });

describe('a preset', () => {
  it.each(POLICY_PRESETS)('is a valid and complete policy: %s', (name) => {
    const parsed = parseRetryPolicy(name);
    expect(parsed).toEqual({ ok: true, policy: RETRY_POLICY_PRESETS[name] });
    expect(parseRetryPolicy(RETRY_POLICY_PRESETS[name])).toEqual(parsed);
    expect(completePolicySchema.safeParse(RETRY_POLICY_PRESETS[name]).success).toBe(true);
    expect(parseDefaultRetryPolicy(name)).toEqual(parsed);
  });

  it('ignores the defaults of the deployment', () => {
    expect(parseRetryPolicy('default', { ...DEFAULT_RETRY_POLICY, jitter: 'full' })).toEqual({
      ok: true,
      policy: DEFAULT_RETRY_POLICY,
    });
  });

  it('quick gives up after a minute', () => {
    expect(totalSeconds(RETRY_POLICY_PRESETS.quick)).toBe(60);
  });

  it('standard-webhooks has the delays of the specification, most of them within a third', () => {
    const recommended = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
    const delays = retrySchedule(RETRY_POLICY_PRESETS['standard-webhooks']).map(
      ({ delaySeconds }) => delaySeconds,
    );
    expect(delays).toHaveLength(recommended.length);
    const near = delays.filter((delay, index) => Math.abs(delay / (recommended[index] ?? 0) - 1) < 1 / 3);
    expect(near).toHaveLength(7);
  });

  it('patient tries for three days on average, and at least every four hours', () => {
    const { patient } = RETRY_POLICY_PRESETS;
    expect(Math.abs(meanSeconds(patient) - 3 * DAY)).toBeLessThan(7200);
    expect(Math.max(...retrySchedule(patient).map(({ delaySeconds }) => delaySeconds))).toBe(14_400);
  });

  it.each(['patiant', 'Patient', 'toString'])('that does not exist is refused with the list: %s', (name) => {
    expect(parseRetryPolicy(name)).toEqual(
      refused(
        `must be an object or the name of a preset. There is no preset ${name}. ` +
          'Presets: quick, default, standard-webhooks, patient',
      ),
    );
  });

  it.each(['', 'Bearer s3cret', 'x'.repeat(33)])('is not quoted unless it looks like a name: %j', (text) => {
    expect(parseRetryPolicy(text)).toEqual(
      refused(
        'must be an object or the name of a preset. Presets: quick, default, standard-webhooks, patient',
      ),
    );
  });
});
