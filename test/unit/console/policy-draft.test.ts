import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { adviceOn } from '../../../console/src/pages/designer/designer-page.tsx';
import { BACKOFF_FUNCTIONS, POLICY_PRESETS } from '../../../shared/domain/retry/vocabulary.ts';
import {
  toDraft,
  EMPTY_DRAFT,
  indexFaults,
  findPreset,
  validateDraft,
  SNS_EXAMPLE,
  type Draft,
} from '../../../console/src/pages/designer/policy-controls.tsx';
import { computeDelays, runningTotal } from '../../../console/src/pages/designer/schedule-charts.tsx';
import { backoffDelays } from '../../../shared/domain/retry/schedule.ts';
import {
  DEFAULT_RETRY_POLICY,
  RETRY_POLICY_PRESETS,
  type RetryPolicy,
} from '../../../shared/domain/retry/policy.ts';

const validated = (fields: Partial<Draft>) => validateDraft({ ...EMPTY_DRAFT, ...fields });

describe('a policy draft', () => {
  it('uses the default for an empty field', () => {
    expect(validated({})).toEqual({ ok: true, policy: {}, complete: DEFAULT_RETRY_POLICY });
    expect(validated({ minimum_delay: ' 7 ' })).toMatchObject({ ok: true, policy: { minimum_delay: 7 } });
  });

  it('accepts every field', () => {
    const policy = {
      retries_with_no_delay: 0,
      minimum_delay_retries: 2,
      minimum_delay: 60,
      maximum_delay: 900,
      maximum_delay_retries: 1,
      retry_backoff_function: 'capped_exponential',
      ignore_subscription_override: true,
      backoff_retries: 4,
      backoff_exponent: 1.5,
      jitter: 'equal',
      retry_on_status: [408, 429],
    } satisfies RetryPolicy;
    expect(validateDraft(toDraft(policy))).toMatchObject({ ok: true, policy });
  });

  it.each<[Partial<Draft>, string]>([
    [{ minimum_delay: '0' }, 'minimum_delay'],
    [{ minimum_delay: 'soon' }, 'minimum_delay'],
    [{ minimum_delay: '1e3' }, 'minimum_delay'],
    [{ backoff_retries: '1.5' }, 'backoff_retries'],
    [{ minimum_delay: '40' }, 'maximum_delay'],
    [{ retry_on_status: '410' }, 'retry_on_status'],
    [{ retry_on_status: '408, often' }, 'retry_on_status'],
    [{ backoff_retries: '101' }, '_retry_policy'],
    [{ maximum_delay: '604800', maximum_delay_retries: '5' }, '_retry_policy'],
  ])('names the invalid field of %o', (fields, field) => {
    const validation = validated(fields);
    expect(validation.ok ? [] : [...validation.faults.keys()]).toEqual([field]);
  });

  it('finds the field that the API rejected, in options and in patches', () => {
    const refused = ['options._retry_policy.minimum_delay', '[0].value.jitter', 'something.else'];
    const faults = indexFaults(refused.map((field) => ({ field, message: 'must be more' })));
    expect([...faults.keys()]).toEqual(['minimum_delay', 'jitter', '_retry_policy']);
  });
});

describe('a preset', () => {
  it.each(POLICY_PRESETS)('makes a draft that is recognised again: %s', (name) => {
    const validation = validateDraft(toDraft(RETRY_POLICY_PRESETS[name]));
    expect(validation).toMatchObject({ ok: true, complete: RETRY_POLICY_PRESETS[name] });
    expect(validation.ok && findPreset(validation.complete)).toBe(name);
  });

  it('is not recognised once a field differs', () => {
    expect(findPreset({ ...RETRY_POLICY_PRESETS.patient, jitter: 'full' })).toBeUndefined();
  });
});

describe('the advice of the designer', () => {
  it('names the patient preset where a policy gives up within the hour', () => {
    const text = /preset patient makes 37 requests over at most 4 d .* --policy patient/;
    expect(adviceOn(DEFAULT_RETRY_POLICY)).toMatch(text);
    expect(
      adviceOn({ ...DEFAULT_RETRY_POLICY, maximum_delay: 3600, maximum_delay_retries: 1 }),
    ).toBeUndefined();
  });

  it.each(['README.md', 'docs/getting-started.md'])('is that of %s', async (page) => {
    const text = await readFile(path.join(import.meta.dirname, '../../..', page), 'utf8');
    expect(text).toMatch(/gives up\s+after 4 min 40 s[^]*queue set \w+ --policy patient/);
  });
});

describe('the schedule of the designer', () => {
  it('matches the example of the SNS documentation: 10 retries, from 5 to 260 s', () => {
    const validation = validateDraft(SNS_EXAMPLE);
    if (!validation.ok) throw new Error('the example is not a valid policy');
    const bounds = { minimum_delay: 5, maximum_delay: 260, backoff_retries: 10, backoff_exponent: 2 };
    for (const name of BACKOFF_FUNCTIONS) {
      const delays = backoffDelays({ ...DEFAULT_RETRY_POLICY, ...bounds, retry_backoff_function: name });
      expect(computeDelays(validation.complete, name)).toEqual(delays);
    }
    const linear = computeDelays(validation.complete, 'linear');
    expect([linear[0], linear[9]]).toEqual([5, 260]);
  });

  it('adds up the delays', () => {
    expect(runningTotal([0, 5, 10, 2.5])).toEqual([0, 5, 15, 17.5]);
  });
});
