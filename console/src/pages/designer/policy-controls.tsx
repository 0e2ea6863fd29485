import { toRecord } from '../../../../shared/domain/delivery/vocabulary.ts';
import type { FieldError } from '../../../../shared/domain/errors.ts';
import { parseRetryPolicy } from '../../../../shared/domain/retry/policy-schema.ts';
import {
  completePolicySchema,
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  isPresetName,
  type PartialRetryPolicy,
  RETRY_POLICY_PRESETS,
  type RetryPolicy,
} from '../../../../shared/domain/retry/policy.ts';
import {
  BACKOFF_FUNCTIONS,
  JITTERS,
  POLICY_PRESETS,
  type PresetName,
} from '../../../../shared/domain/retry/vocabulary.ts';
import type { Faults } from '../../api/failure-words.ts';
import { scheduleText } from '../../parts/facts.tsx';
import { CheckField, InputField, NumberField, numberIn, SelectField } from '../../parts/fields.tsx';

type PolicyFieldProps = {
  none: string;
  choice: PolicyChoice;
  /** Fields that the API rejected. */
  rejected: readonly FieldError[];
  onChoice: (choice: PolicyChoice) => void;
};

/** Chooses the retry policy of a queue or a subscription. `none`: what applies without one. */
export function PolicyField({ none, choice, rejected, onChoice }: PolicyFieldProps) {
  const checked = policyIn(choice);
  const faults = checked.ok
    ? indexFaults(rejected.filter(({ field }) => field.includes('_retry_policy')))
    : checked.faults;
  return (
    <>
      <SelectField
        label="Retry policy"
        fault={faults.get('_retry_policy')}
        value={choice.chosen}
        onValue={(chosen) => onChoice(withChosen(choice, chosen))}
        options={[
          ['none', none],
          ...POLICY_PRESETS.map(
            (name) => [name, `${name}: ${scheduleText(RETRY_POLICY_PRESETS[name])}`] as const,
          ),
          'custom',
        ]}
      />
      {choice.chosen !== 'custom' ? null : (
        <div class="stack">
          <PolicyControls
            draft={choice.draft}
            faults={faults}
            onChange={(field, text) => onChoice({ ...choice, draft: { ...choice.draft, [field]: text } })}
          />
        </div>
      )}
    </>
  );
}

type Field = keyof RetryPolicy;

/** The fields of each phase that are numbers, with their labels. */
const PHASES: readonly (readonly [title: string, ...fields: (readonly [field: Field, label: string])[]])[] = [
  ['1 · Immediately', ['retries_with_no_delay', 'Retries with no delay']],
  [
    '2 · Before backoff',
    ['minimum_delay_retries', 'Minimum delay retries'],
    ['minimum_delay', 'Minimum delay, seconds'],
  ],
  ['3 · Backoff', ['backoff_retries', 'Backoff retries']],
  [
    '4 · After backoff',
    ['maximum_delay_retries', 'Maximum delay retries'],
    ['maximum_delay', 'Maximum delay, seconds'],
  ],
];

type PolicyControlsProps = {
  draft: Draft;
  faults: Faults;
  onChange: (field: Field, text: string) => void;
};

/** A control for each field of a policy. An empty control shows the default as its placeholder. */
export function PolicyControls({ draft, faults, onChange }: PolicyControlsProps) {
  const control = (name: Field, label: string) => ({
    label,
    value: draft[name],
    fault: faults.get(name),
    onValue: (text: string) => onChange(name, text),
  });
  const number = (name: Field, label: string) => (
    <NumberField key={name} {...control(name, label)} placeholder={String(DEFAULT_RETRY_POLICY[name])} />
  );
  const choice = (name: 'jitter' | 'retry_backoff_function', label: string, words: readonly string[]) => (
    <SelectField
      {...control(name, label)}
      options={[
        ['', `${DEFAULT_RETRY_POLICY[name]} (default)`],
        ...words.map((word) => [word, word.replace('_', ' ')] as const),
      ]}
    />
  );
  return (
    <div class="phases">
      {PHASES.map(([title, ...fields]) => (
        <fieldset key={title}>
          <legend>{title}</legend>
          {fields.map(([name, label]) => number(name, label))}
          {fields.some(([name]) => name === 'backoff_retries') ? (
            <>
              {choice('retry_backoff_function', 'Backoff function', BACKOFF_FUNCTIONS)}
              {draft.retry_backoff_function === 'capped_exponential'
                ? number('backoff_exponent', 'Backoff exponent')
                : null}
            </>
          ) : null}
        </fieldset>
      ))}
      <fieldset>
        <legend>All phases</legend>
        {choice('jitter', 'Jitter', JITTERS)}
        <InputField
          {...control('retry_on_status', 'Also retry on')}
          hint="3xx and 4xx status codes, for example 408, 425, 429"
          placeholder="none"
        />
        <CheckField
          label="Override the policies of subscriptions (queues only)"
          checked={draft.ignore_subscription_override === 'true'}
          onChecked={(checked) => onChange('ignore_subscription_override', checked ? 'true' : '')}
        />
      </fieldset>
    </div>
  );
}

/** The texts in the controls. An empty one means the default. */
export type Draft = Readonly<Record<keyof RetryPolicy, string>>;

export const EMPTY_DRAFT: Draft = toRecord(completePolicySchema.keyof().options, () => '');

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
export function toDraft(policy: PartialRetryPolicy): Draft {
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
export function findPreset(policy: PartialRetryPolicy): PresetName | undefined {
  const text = toComparableText(policy);
  return POLICY_PRESETS.find((name) => toComparableText(RETRY_POLICY_PRESETS[name]) === text);
}

function toComparableText(policy: PartialRetryPolicy): string {
  return JSON.stringify({ ...EMPTY_DRAFT, ...policy });
}

/** A valid policy as given and with its defaults, or the errors by field. */
export type Validation =
  | { ok: true; policy: PartialRetryPolicy; complete: RetryPolicy }
  | { ok: false; faults: Faults };

export function validateDraft(draft: Draft): Validation {
  const given = Object.entries(draft).filter(([, text]) => text.trim() !== '');
  const parsed = parseRetryPolicy(
    Object.fromEntries(given.map(([field, text]) => [field, parseValue(field, text.trim())])),
  );
  return parsed.ok
    ? {
        ok: true,
        policy: parsed.policy,
        complete: completeRetryPolicy(parsed.policy, DEFAULT_RETRY_POLICY).policy,
      }
    : { ok: false, faults: indexFaults(parsed.fields) };
}

export function indexFaults(fields: readonly FieldError[]): Faults {
  return new Map(fields.map(({ field, message }) => [findControl(field), message]));
}

/** The control of a field path: `options._retry_policy.jitter` and `[0].value.jitter` both mean `jitter`. */
function findControl(path: string): string {
  const last = path.split('.').at(-1) ?? path;
  return Object.hasOwn(EMPTY_DRAFT, last) ? last : '_retry_policy';
}

const WORDS: ReadonlySet<string> = new Set(['retry_backoff_function', 'jitter']);

function parseValue(field: string, text: string): unknown {
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

export function toChoice(policy: PartialRetryPolicy | undefined): PolicyChoice {
  return policy === undefined
    ? { chosen: 'none', draft: EMPTY_DRAFT }
    : { chosen: findPreset(policy) ?? 'custom', draft: toDraft(policy) };
}

/** The choice after another one of the list. The controls begin with the preset that was chosen before. */
export function withChosen({ chosen, draft }: PolicyChoice, text: string): PolicyChoice {
  if (isPresetName(text)) return { chosen: text, draft: toDraft(RETRY_POLICY_PRESETS[text]) };
  return { chosen: text === 'none' ? 'none' : 'custom', draft: chosen === 'none' ? EMPTY_DRAFT : draft };
}

/** The value for `_retry_policy` (undefined: none), or the errors by field of the policy. */
export function policyIn({
  chosen,
  draft,
}: PolicyChoice): { ok: true; value: unknown } | { ok: false; faults: Faults } {
  if (chosen === 'none') return { ok: true, value: undefined };
  if (chosen !== 'custom') return { ok: true, value: chosen };
  const validation = validateDraft(draft);
  return validation.ok ? { ok: true, value: validation.policy } : validation;
}
