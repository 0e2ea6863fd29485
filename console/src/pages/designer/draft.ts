import { parseRetryPolicy } from '../../../../shared/domain/retry/policy-schema.ts';
import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  isPresetName,
  type PartialRetryPolicy,
  RETRY_POLICY_PRESETS,
  type RetryPolicy,
} from '../../../../shared/domain/retry/policy.ts';
import { POLICY_PRESETS, type PresetName } from '../../../../shared/domain/retry/vocabulary.ts';
import { numberIn } from '../../parts/fields.tsx';

/** The texts in the controls. An empty one means the default. */
export type Draft = Readonly<Record<keyof RetryPolicy, string>>;

export const EMPTY_DRAFT: Draft = {
  retries_with_no_delay: '',
  minimum_delay_retries: '',
  minimum_delay: '',
  maximum_delay: '',
  maximum_delay_retries: '',
  retry_backoff_function: '',
  ignore_subscription_override: '',
  backoff_retries: '',
  backoff_exponent: '',
  jitter: '',
  retry_on_status: '',
};

/** The chart in the SNS documentation: 10 retries from 5 to 260 s, and no others. */
export const SNS_EXAMPLE: Draft = {
  ...EMPTY_DRAFT,
  retries_with_no_delay: '0',
  minimum_delay_retries: '0',
  minimum_delay: '5',
  maximum_delay: '260',
  maximum_delay_retries: '0',
  backoff_retries: '10',
};

/** The draft of a stored policy. */
export function draftOf(policy: PartialRetryPolicy): Draft {
  return {
    ...EMPTY_DRAFT,
    ...Object.fromEntries(
      Object.entries(policy).map(([field, value]) => [
        field,
        Array.isArray(value) ? value.join(', ') : String(value),
      ]),
    ),
  };
}

/** The preset with the same effect. */
export function presetOf(policy: PartialRetryPolicy): PresetName | undefined {
  const text = textOf(policy);
  return POLICY_PRESETS.find((name) => textOf(RETRY_POLICY_PRESETS[name]) === text);
}

function textOf(policy: PartialRetryPolicy): string {
  return JSON.stringify({ ...EMPTY_DRAFT, ...policy });
}

/** A valid policy as given and with its defaults, or the errors by field. */
export type Validation =
  | { ok: true; policy: PartialRetryPolicy; complete: RetryPolicy }
  | { ok: false; faults: ReadonlyMap<string, string> };

export function validateDraft(draft: Draft): Validation {
  const given = Object.entries(draft).filter(([, text]) => text.trim() !== '');
  const parsed = parseRetryPolicy(
    Object.fromEntries(given.map(([field, text]) => [field, valueOf(field, text.trim())])),
  );
  return parsed.ok
    ? {
        ok: true,
        policy: parsed.policy,
        complete: completeRetryPolicy(parsed.policy, DEFAULT_RETRY_POLICY).policy,
      }
    : { ok: false, faults: faultsOf(parsed.fields) };
}

export function faultsOf(fields: readonly { field: string; message: string }[]): ReadonlyMap<string, string> {
  return new Map(fields.map(({ field, message }) => [fieldOf(field), message]));
}

/** The control of a field path: `options._retry_policy.jitter` and `[0].value.jitter` both mean `jitter`. */
function fieldOf(path: string): string {
  const last = path.split('.').at(-1) ?? path;
  return Object.hasOwn(EMPTY_DRAFT, last) ? last : '_retry_policy';
}

const WORDS: ReadonlySet<string> = new Set(['retry_backoff_function', 'jitter']);

function valueOf(field: string, text: string): unknown {
  if (WORDS.has(field)) return text;
  if (field === 'ignore_subscription_override') return text === 'true';
  if (field === 'retry_on_status')
    return text
      .split(/[\s,]+/)
      .filter((part) => part !== '')
      .map(numberIn);
  return numberIn(text);
}

/** A retry policy in a form: none, a preset, or the controls of the designer (`draft`). */
export type PolicyChoice = { chosen: 'none' | 'custom' | PresetName; draft: Draft };

export function choiceOf(policy: PartialRetryPolicy | undefined): PolicyChoice {
  return policy === undefined
    ? { chosen: 'none', draft: EMPTY_DRAFT }
    : { chosen: presetOf(policy) ?? 'custom', draft: draftOf(policy) };
}

/** The choice after another one of the list. The controls begin with the preset that was chosen before. */
export function withChosen({ chosen, draft }: PolicyChoice, text: string): PolicyChoice {
  if (isPresetName(text)) return { chosen: text, draft: draftOf(RETRY_POLICY_PRESETS[text]) };
  return { chosen: text === 'none' ? 'none' : 'custom', draft: chosen === 'none' ? EMPTY_DRAFT : draft };
}

/** The value for `_retry_policy` (undefined: none), or the errors by field of the policy. */
export function policyIn({
  chosen,
  draft,
}: PolicyChoice): { ok: true; value: unknown } | { ok: false; faults: ReadonlyMap<string, string> } {
  if (chosen === 'none') return { ok: true, value: undefined };
  if (chosen !== 'custom') return { ok: true, value: chosen };
  const validation = validateDraft(draft);
  return validation.ok ? { ok: true, value: validation.policy } : validation;
}
