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
import {
  type Backoff,
  backoffDelays,
  jitteredDelay,
  meanSeconds,
  retrySchedule,
  totalSeconds,
} from '../../../shared/domain/retry/schedule.ts';
import {
  type BackoffFunction,
  type Jitter,
  POLICY_PRESETS,
} from '../../../shared/domain/retry/vocabulary.ts';

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

const SERIES: BackoffFunction[] = ['linear', 'arithmetic', 'geometric', 'exponential'];
const ALL: BackoffFunction[] = [...SERIES, 'capped_exponential'];

const backoff = (overrides: Partial<Backoff>): Backoff => ({
  function: 'linear',
  minimum: 5,
  maximum: 60,
  retries: 12,
  exponent: 2,
  ...overrides,
});

const seconds = fc.oneof(
  fc.integer({ min: 1, max: 604_800 }),
  fc.double({ min: 0.001, max: 604_800, noNaN: true }),
);

const anyBackoff = (functions: BackoffFunction[]): fc.Arbitrary<Backoff> =>
  fc
    .record({
      function: fc.constantFrom(...functions),
      minimum: seconds,
      maximum: seconds,
      retries: fc.integer({ min: 0, max: 100 }),
      exponent: fc.double({ min: 1, max: 1e300, minExcluded: true, noNaN: true }),
    })
    .map((drawn) => ({
      ...drawn,
      minimum: Math.min(drawn.minimum, drawn.maximum),
      maximum: Math.max(drawn.minimum, drawn.maximum),
    }));

/** The formulas of docs/retry-policy.md, without handling of rounding. */
const asWritten = ({ function: name, minimum, maximum, retries, exponent }: Backoff, n: number): number => {
  const ratio = (maximum / minimum) ** (1 / (retries - 1));
  switch (name) {
    case 'linear':
      return minimum + ((maximum - minimum) / (retries - 1)) * (n - 1);
    case 'arithmetic':
      return minimum + ((n * (n - 1)) / 2) * ((2 * (maximum - minimum)) / (retries * (retries - 1)));
    case 'geometric':
      return minimum * ratio ** (n - 1);
    case 'exponential':
      return (minimum / ratio) * ratio ** n;
    case 'capped_exponential':
      return Math.min(maximum, minimum * exponent ** (n - 1));
  }
};

describe('backoff delays', () => {
  it.each<[string, Partial<Backoff>, number[]]>([
    ['linear grows by equal steps', {}, [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60]],
    [
      'arithmetic grows by increasing steps',
      { function: 'arithmetic', maximum: 35, retries: 4 },
      [5, 10, 20, 35],
    ],
    ['geometric grows by a factor', { function: 'geometric', maximum: 80, retries: 5 }, [5, 10, 20, 40, 80]],
    [
      'exponential is the same series as geometric',
      { function: 'exponential', maximum: 80, retries: 5 },
      [5, 10, 20, 40, 80],
    ],
    [
      'geometric keeps whole delays exact',
      { function: 'geometric', minimum: 1, maximum: 1000, retries: 4 },
      [1, 10, 100, 1000],
    ],
    [
      'capped_exponential stays at the maximum',
      { function: 'capped_exponential', retries: 6 },
      [5, 10, 20, 40, 60, 60],
    ],
    [
      'capped_exponential may end below the maximum',
      { function: 'capped_exponential', retries: 3 },
      [5, 10, 20],
    ],
    [
      'capped_exponential accepts fractional exponents',
      { function: 'capped_exponential', retries: 3, exponent: 1.5 },
      [5, 7.5, 11.25],
    ],
    [
      'capped_exponential caps an enormous exponent',
      { function: 'capped_exponential', retries: 3, exponent: 1e300 },
      [5, 60, 60],
    ],
  ])('%s', (_, overrides, delays) => {
    expect(backoffDelays(backoff(overrides))).toEqual(delays);
  });

  it.each(ALL)('%s starts at the minimum with one or two retries', (name) => {
    expect(backoffDelays(backoff({ function: name, retries: 0 }))).toEqual([]);
    expect(backoffDelays(backoff({ function: name, retries: 1 }))).toEqual([5]);
    expect(backoffDelays(backoff({ function: name, retries: 2 }))[0]).toBe(5);
  });

  it.each(ALL)('%s is constant if minimum and maximum are equal', (name) => {
    expect(backoffDelays(backoff({ function: name, minimum: 7, maximum: 7, retries: 4 }))).toEqual([
      7, 7, 7, 7,
    ]);
  });

  it('are one per retry, never decrease and stay within the bounds', () => {
    fc.assert(
      fc.property(anyBackoff(ALL), (drawn) => {
        const delays = backoffDelays(drawn);
        expect(delays).toHaveLength(drawn.retries);
        delays.reduce((before, delay) => {
          expect(delay).toBeGreaterThanOrEqual(before);
          expect(delay).toBeLessThanOrEqual(drawn.maximum);
          return delay;
        }, drawn.minimum);
      }),
    );
  });

  it('start at the minimum and end at exactly the maximum with two or more retries', () => {
    fc.assert(
      fc.property(anyBackoff(SERIES), (drawn) => {
        fc.pre(drawn.retries >= 2);
        const delays = backoffDelays(drawn);
        expect(delays[0]).toBe(drawn.minimum);
        expect(delays.at(-1)).toBe(drawn.maximum);
      }),
    );
  });

  it.each(SERIES)('%s ends at the exact maximum where a power would be inexact', (name) => {
    expect(0.1 * (1.9 / 0.1)).not.toBe(1.9);
    expect(backoffDelays(backoff({ function: name, minimum: 0.1, maximum: 1.9, retries: 3 })).at(-1)).toBe(
      1.9,
    );
  });

  it('start at the minimum for capped_exponential', () => {
    fc.assert(
      fc.property(anyBackoff(['capped_exponential']), (drawn) => {
        fc.pre(drawn.retries >= 1);
        expect(backoffDelays(drawn)[0]).toBe(drawn.minimum);
      }),
    );
  });

  it('follow the documented formulas', () => {
    fc.assert(
      fc.property(anyBackoff(ALL), (drawn) => {
        fc.pre(drawn.retries >= 2);
        backoffDelays(drawn).forEach((delay, index) => {
          expect(Math.abs(delay / asWritten(drawn, index + 1) - 1)).toBeLessThan(1e-9);
        });
      }),
    );
  });

  it('follow the recurrence of the arithmetic series: each delay adds d(n − 1) to the previous one', () => {
    const { minimum, maximum, retries } = backoff({ maximum: 95, retries: 10 });
    const d = (2 * (maximum - minimum)) / (retries * (retries - 1));
    const delays = backoffDelays(backoff({ function: 'arithmetic', maximum, retries }));
    for (let n = 2; n <= retries; n += 1)
      expect(delays[n - 1]).toBeCloseTo((delays[n - 2] ?? NaN) + d * (n - 1), 9);
  });
});

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

describe('jitter', () => {
  const delay = fc.double({ min: 0, max: 604_800, noNaN: true });

  it('of kind none keeps the delay', () => {
    fc.assert(fc.property(delay, fc.string(), (d, seed) => jitteredDelay(d, 'none', seed) === d));
  });

  it('is between 0 (full) or half of the delay (equal) and the delay', () => {
    fc.assert(
      fc.property(delay, fc.string(), (d, seed) => {
        const full = jitteredDelay(d, 'full', seed);
        const equal = jitteredDelay(d, 'equal', seed);
        return full >= 0 && full <= d && equal >= d / 2 && equal <= d;
      }),
    );
  });

  it('gives the same delay for the same seed across releases', () => {
    // First 48 bits of the seed's SHA-256 as a fraction of 2^48.
    const fraction = 18.851971771600162 / 100;
    const seed = '["orders","m-1","s-1",5]';
    expect(jitteredDelay(100, 'full', seed)).toBe(jitteredDelay(100, 'full', seed));
    expect(jitteredDelay(100, 'full', seed)).toBeCloseTo(100 * fraction, 9);
    expect(jitteredDelay(100, 'equal', seed)).toBeCloseTo(50 + 50 * fraction, 9);
  });

  it.each<[Jitter, number]>([
    ['full', 0],
    ['equal', 50],
  ])('of kind %s spreads evenly over its range', (jitter, least) => {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let n = 0; n < 10_000; n += 1) {
      const share = (jitteredDelay(100, jitter, `delivery-${n}`) - least) / (100 - least);
      const tenth = Math.floor(share * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    // Expected value 1,000, standard deviation 30.
    for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(150);
    expect(tenths).toHaveLength(10);
  });

  it.each<[Jitter, number]>([
    ['none', 1],
    ['full', 0.5],
    ['equal', 0.75],
  ])('of kind %s has the mean that a schedule shows', (jitter, share) => {
    expect(meanSeconds({ ...DEFAULT_RETRY_POLICY, jitter })).toBe(280 * share);
    const drawn = Array.from({ length: 2000 }, (_, n) => jitteredDelay(1, jitter, `delivery-${n}`));
    expect(drawn.reduce((sum, delay) => sum + delay, 0) / drawn.length).toBeCloseTo(share, 1);
  });
});
