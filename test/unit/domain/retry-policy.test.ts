import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDefaultRetryPolicy, parseRetryPolicy } from '../../../shared/domain/retry/policy-schema.ts';
import {
  completePolicySchema,
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  policyInForce,
  RETRY_POLICY_PRESETS,
} from '../../../shared/domain/retry/policy.ts';
import { meanSeconds, retrySchedule, totalSeconds } from '../../../shared/domain/retry/schedule.ts';
import { POLICY_PRESETS } from '../../../shared/domain/retry/vocabulary.ts';

const DAY = 86_400;

const fieldsOf = (input: unknown, defaults = DEFAULT_RETRY_POLICY): string[] => {
  const parsed = parseRetryPolicy(input, defaults);
  return parsed.ok ? [] : parsed.fields.map(({ field }) => field);
};

const messageOf = (input: unknown): string | undefined => {
  const parsed = parseRetryPolicy(input);
  return parsed.ok ? undefined : parsed.fields[0]?.message;
};

describe('parsing a retry policy', () => {
  it('accepts an empty, partial or complete policy without completing it', () => {
    expect(parseRetryPolicy({})).toEqual({ ok: true, policy: {} });
    expect(parseRetryPolicy({ jitter: 'full' })).toEqual({ ok: true, policy: { jitter: 'full' } });
    expect(parseRetryPolicy(DEFAULT_RETRY_POLICY)).toEqual({ ok: true, policy: DEFAULT_RETRY_POLICY });
  });

  const noCount = [true, false, -1, 1.5, '3', null, [3], NaN];
  const wrongValues: Record<string, unknown[]> = {
    retries_with_no_delay: noCount,
    minimum_delay_retries: noCount,
    maximum_delay_retries: noCount,
    backoff_retries: noCount,
    minimum_delay: [true, 0, -5, 1.5, '5', null],
    maximum_delay: [true, 30.5, '30', null, 0, 7 * DAY + 1],
    retry_backoff_function: ['cubic', 'LINEAR', '', 1, null],
    ignore_subscription_override: ['true', 1, null],
    backoff_exponent: [true, 1, 0.5, -2, '2', Infinity, null],
    jitter: ['some', true, null],
    retry_on_status: [408, '408', null, [410], [200], [299], [500], [408.5], ['408'], [true]],
    retry_backoff: ['linear'],
  };
  const wrongFields = Object.entries(wrongValues).flatMap(([field, values]) =>
    values.map((value) => ({ field, value })),
  );
  it.each(wrongFields)('refuses $field with the value $value', ({ field, value }) => {
    expect(fieldsOf({ [field]: value })).toEqual([field]);
  });

  it.each([undefined, null, true, 5, 'linear', [], [{}]])(
    'refuses a value that is not an object: %j',
    (input) => {
      expect(fieldsOf(input)).toEqual(['_retry_policy']);
    },
  );

  it('accepts the boundary of every rule', () => {
    expect(fieldsOf({ minimum_delay: 1, maximum_delay: 1 })).toEqual([]);
    expect(fieldsOf({ minimum_delay: 30 })).toEqual([]);
    expect(fieldsOf({ maximum_delay: 7 * DAY, maximum_delay_retries: 1, backoff_retries: 2 })).toEqual([]);
    expect(fieldsOf({ backoff_exponent: 1.0001 })).toEqual([]);
    expect(fieldsOf({ retry_on_status: [300, 409, 411, 499] })).toEqual([]);
    expect(fieldsOf({ ignore_subscription_override: true })).toEqual([]);
  });

  it('reports every wrong field once, and errors about the whole policy last', () => {
    const input = {
      typo: 1,
      retry_on_status: [410, 'x', 200],
      minimum_delay: 0,
      jitter: 3,
      retries_with_no_delay: 99,
    };
    expect(fieldsOf(input)).toEqual(['minimum_delay', 'jitter', 'retry_on_status', 'typo', '_retry_policy']);
  });

  it.each(['__proto__', 'constructor', 'toString', '_retry_policy', ''])(
    'refuses an unknown key: %j',
    (key) => {
      expect(fieldsOf(JSON.parse(`{${JSON.stringify(key)}: {}}`))).toEqual([key]);
    },
  );

  it('reports maximum_delay if it is below minimum_delay, also with defaults', () => {
    expect(fieldsOf({ minimum_delay: 10, maximum_delay: 9 })).toEqual(['maximum_delay']);
    expect(fieldsOf({ minimum_delay: 31 })).toEqual(['maximum_delay']);
    expect(messageOf({ minimum_delay: 31 })).toContain('it is 30 by default');
    expect(fieldsOf({ maximum_delay: 4 })).toEqual(['maximum_delay']);
    expect(messageOf({ maximum_delay: 4 })).toContain('minimum_delay is 5 by default');
    expect(fieldsOf({ minimum_delay: 31 }, { ...DEFAULT_RETRY_POLICY, maximum_delay: 31 })).toEqual([]);
  });

  it('does not use defaults in place of wrong values', () => {
    expect(fieldsOf({ minimum_delay: 60, maximum_delay: '90' })).toEqual(['maximum_delay']);
    expect(fieldsOf({ minimum_delay: '1', maximum_delay: 2 })).toEqual(['minimum_delay']);
    expect(fieldsOf({ minimum_delay: 60, jitter: 'x' })).toEqual(['jitter', 'maximum_delay']);
    expect(fieldsOf({ retries_with_no_delay: 90, backoff_retries: '1' })).toEqual(['backoff_retries']);
    expect(fieldsOf({ retries_with_no_delay: 101, backoff_retries: '1' })).toEqual([
      'backoff_retries',
      '_retry_policy',
    ]);
    expect(fieldsOf({ minimum_delay: 600_000, minimum_delay_retries: 50 })).toEqual(['maximum_delay']);
    const long = { maximum_delay: 7 * DAY, retry_backoff_function: 'x' };
    expect(fieldsOf(long)).toEqual(['retry_backoff_function']);
  });

  it('allows at most 100 retries in total, including defaults', () => {
    expect(fieldsOf({ retries_with_no_delay: 84 })).toEqual([]);
    expect(fieldsOf({ retries_with_no_delay: 85 })).toEqual(['_retry_policy']);
    expect(messageOf({ retries_with_no_delay: 85 })).toContain('85 + 3 + 10 + 3 = 101');
    expect(fieldsOf({ backoff_retries: 1e300 })).toEqual(['_retry_policy']);
  });

  it('allows a total of exactly 15 days', () => {
    const twoWeeks = {
      minimum_delay_retries: 0,
      backoff_retries: 2,
      maximum_delay_retries: 1,
      maximum_delay: 7 * DAY,
    };
    expect(fieldsOf({ ...twoWeeks, minimum_delay: DAY })).toEqual([]);
    expect(fieldsOf({ ...twoWeeks, minimum_delay: DAY + 1 })).toEqual(['_retry_policy']);
    expect(messageOf({ ...twoWeeks, minimum_delay: DAY + 1 })).toContain('1296001 s');
    // Fractions that add up to 15 days, but to 1296000.0000000002 s in floating point.
    const fractions = {
      minimum_delay_retries: 0,
      minimum_delay: 7,
      backoff_retries: 15,
      maximum_delay_retries: 0,
    };
    expect(fieldsOf({ ...fractions, maximum_delay: 172_793 })).toEqual([]);
    expect(fieldsOf({ ...fractions, maximum_delay: 172_794 })).toEqual(['_retry_policy']);
  });

  it('accepts exactly the policies whose schedule is within the limits', () => {
    const counts = fc.integer({ min: 0, max: 60 });
    const drawn = fc.record(
      {
        retries_with_no_delay: counts,
        minimum_delay_retries: counts,
        backoff_retries: counts,
        maximum_delay_retries: counts,
        minimum_delay: fc.integer({ min: 1, max: 50_000 }),
        maximum_delay: fc.integer({ min: 1, max: 200_000 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(drawn, (partial) => {
        const { policy } = completeRetryPolicy(partial, DEFAULT_RETRY_POLICY);
        const contradicts = policy.maximum_delay !== { ...DEFAULT_RETRY_POLICY, ...partial }.maximum_delay;
        const within = retrySchedule(policy).length <= 100 && totalSeconds(policy) <= 15 * DAY;
        expect(parseRetryPolicy(partial).ok).toBe(!contradicts && within);
      }),
      { numRuns: 500 },
    );
  });

  it('removes duplicate statuses', () => {
    expect(parseRetryPolicy({ retry_on_status: [429, 408, 429] })).toEqual({
      ok: true,
      policy: { retry_on_status: [429, 408] },
    });
  });
});

describe("a deployment's default policy", () => {
  it("is completed from the product's defaults", () => {
    expect(parseDefaultRetryPolicy({ maximum_delay: 300, jitter: 'equal' })).toEqual({
      ok: true,
      policy: { ...DEFAULT_RETRY_POLICY, maximum_delay: 300, jitter: 'equal' },
    });
  });

  it('is checked like any other', () => {
    const parsed = parseDefaultRetryPolicy({ maximum_delay: 1, nope: true });
    expect(parsed).toMatchObject({ ok: false, fields: [{ field: 'nope' }, { field: 'maximum_delay' }] });
  });
});

describe('completing a policy', () => {
  it('fills missing fields from the defaults and keeps given ones', () => {
    const defaults = { ...DEFAULT_RETRY_POLICY, maximum_delay: 120, jitter: 'full' as const };
    expect(completeRetryPolicy({ jitter: 'none', retries_with_no_delay: 0 }, defaults)).toEqual({
      policy: { ...defaults, jitter: 'none', retries_with_no_delay: 0 },
    });
  });

  it('raises the maximum to the minimum with a warning if changed defaults contradict a stored policy', () => {
    const { policy, warning } = completeRetryPolicy({ minimum_delay: 60 }, DEFAULT_RETRY_POLICY);
    expect(policy).toEqual({ ...DEFAULT_RETRY_POLICY, minimum_delay: 60, maximum_delay: 60 });
    expect(warning).toMatch(/maximum_delay 30 .* minimum_delay 60/);
    expect(completeRetryPolicy({ maximum_delay: 2 }, DEFAULT_RETRY_POLICY).policy.maximum_delay).toBe(5);
  });
});

describe('the policy in force', () => {
  const defaults = DEFAULT_RETRY_POLICY;
  const subscription = { minimum_delay: 1 };
  const queue = { minimum_delay: 2 };

  it("is the subscription's, else the queue's, else the defaults", () => {
    expect(policyInForce({ subscription, queue, defaults })).toEqual({
      source: 'subscription',
      policy: { ...defaults, minimum_delay: 1 },
    });
    expect(policyInForce({ queue, defaults })).toEqual({
      source: 'queue',
      policy: { ...defaults, minimum_delay: 2 },
    });
    expect(policyInForce({ defaults })).toEqual({ source: 'defaults', policy: defaults });
  });

  it('counts an empty object as a policy', () => {
    expect(policyInForce({ subscription: {}, queue, defaults })).toEqual({
      source: 'subscription',
      policy: defaults,
    });
    expect(policyInForce({ queue: {}, defaults })).toEqual({ source: 'queue', policy: defaults });
  });

  it("is the queue's if it ignores subscription policies, directly or by default", () => {
    const ignoring = { ...queue, ignore_subscription_override: true };
    expect(policyInForce({ subscription, queue: ignoring, defaults }).source).toBe('queue');
    const defaultsIgnore = { ...defaults, ignore_subscription_override: true };
    expect(policyInForce({ subscription, queue: {}, defaults: defaultsIgnore }).source).toBe('queue');
  });

  it('ignores ignore_subscription_override outside a queue policy', () => {
    const stubborn = { ...subscription, ignore_subscription_override: true };
    expect(policyInForce({ subscription: stubborn, queue, defaults }).source).toBe('subscription');
    const defaultsIgnore = { ...defaults, ignore_subscription_override: true };
    expect(policyInForce({ subscription, defaults: defaultsIgnore }).source).toBe('subscription');
    const queueAllows = { ignore_subscription_override: false };
    expect(policyInForce({ subscription, queue: queueAllows, defaults: defaultsIgnore }).source).toBe(
      'subscription',
    );
  });

  it('contains the warning of the chosen policy', () => {
    expect(policyInForce({ subscription: { minimum_delay: 60 }, defaults }).warning).toContain(
      'minimum_delay 60',
    );
    expect(policyInForce({ subscription, queue: { minimum_delay: 60 }, defaults })).not.toHaveProperty(
      'warning',
    );
  });
});

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

  it.each([
    ...['patiant', 'Patient', 'toString'].map((name) => [name, ` There is no preset ${name}.`] as const),
    ...['', 'Bearer s3cret', 'x'.repeat(33)].map((text) => [text, ''] as const),
  ])(
    'that does not exist is refused with the list, and quoted only if it looks like a name: %j',
    (text, quoted) => {
      const list = 'Presets: quick, default, standard-webhooks, patient';
      const message = `must be an object or the name of a preset.${quoted} ${list}`;
      expect(parseRetryPolicy(text)).toEqual({ ok: false, fields: [{ field: '_retry_policy', message }] });
    },
  );
});
