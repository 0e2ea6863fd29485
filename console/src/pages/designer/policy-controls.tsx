import type { FieldError } from '../../../../shared/domain/errors.ts';
import {
  DEFAULT_RETRY_POLICY,
  RETRY_POLICY_PRESETS,
  type RetryPolicy,
} from '../../../../shared/domain/retry/policy.ts';
import { BACKOFF_FUNCTIONS, JITTERS, POLICY_PRESETS } from '../../../../shared/domain/retry/vocabulary.ts';
import { scheduleText } from '../../parts/facts.tsx';
import { InputField, SelectField } from '../../parts/fields.tsx';
import { type Draft, faultsOf, type PolicyChoice, policyIn, withChosen } from './draft.ts';

/** Chooses the retry policy of a queue or a subscription. `none`: what applies without one. */
export function PolicyField({
  none,
  choice,
  rejected,
  onChoice,
}: {
  none: string;
  choice: PolicyChoice;
  /** Fields that the API rejected. */
  rejected: readonly FieldError[];
  onChoice: (choice: PolicyChoice) => void;
}) {
  const checked = policyIn(choice);
  const faults = checked.ok
    ? faultsOf(rejected.filter(({ field }) => field.includes('_retry_policy')))
    : checked.faults;
  return (
    <>
      <SelectField
        label="Retry policy"
        fault={faults.get('_retry_policy')}
        value={choice.chosen}
        onValue={(chosen) => {
          onChoice(withChosen(choice, chosen));
        }}
        options={[
          ['none', none],
          ...POLICY_PRESETS.map(
            (name) => [name, `${name}: ${scheduleText(RETRY_POLICY_PRESETS[name])}`] as const,
          ),
          ['custom', 'custom'],
        ]}
      />
      {choice.chosen !== 'custom' ? null : (
        <div class="stack">
          <PolicyControls
            draft={choice.draft}
            faults={faults}
            onChange={(field, text) => {
              onChoice({ ...choice, draft: { ...choice.draft, [field]: text } });
            }}
          />
        </div>
      )}
    </>
  );
}

type NumberField = { field: keyof RetryPolicy; label: string; unit?: string };

const PHASES: readonly { title: string; fields: readonly NumberField[] }[] = [
  { title: '1 · Immediately', fields: [{ field: 'retries_with_no_delay', label: 'Retries with no delay' }] },
  {
    title: '2 · Before backoff',
    fields: [
      { field: 'minimum_delay_retries', label: 'Minimum delay retries' },
      { field: 'minimum_delay', label: 'Minimum delay', unit: 'seconds' },
    ],
  },
  { title: '3 · Backoff', fields: [{ field: 'backoff_retries', label: 'Backoff retries' }] },
  {
    title: '4 · After backoff',
    fields: [
      { field: 'maximum_delay_retries', label: 'Maximum delay retries' },
      { field: 'maximum_delay', label: 'Maximum delay', unit: 'seconds' },
    ],
  },
];

type Controls = {
  draft: Draft;
  faults: ReadonlyMap<string, string>;
  onChange: (field: keyof RetryPolicy, text: string) => void;
};

/** A control for each field of a policy. An empty control shows the default as its placeholder. */
export function PolicyControls(controls: Controls) {
  const { draft, faults, onChange } = controls;
  return (
    <div class="phases">
      {PHASES.map(({ title, fields }) => (
        <fieldset key={title}>
          <legend>{title}</legend>
          {fields.map((field) => (
            <NumberControl key={field.field} {...field} controls={controls} />
          ))}
          {fields.some(({ field }) => field === 'backoff_retries') ? <BackoffControls {...controls} /> : null}
        </fieldset>
      ))}
      <fieldset>
        <legend>All phases</legend>
        <ChoiceControl field="jitter" label="Jitter" choices={JITTERS} controls={controls} />
        <InputField
          label="Also retry on"
          hint="3xx and 4xx status codes, for example 408, 425, 429"
          fault={faults.get('retry_on_status')}
          value={draft.retry_on_status}
          placeholder="none"
          onValue={(text) => {
            onChange('retry_on_status', text);
          }}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={draft.ignore_subscription_override === 'true'}
            onChange={({ currentTarget }) => {
              onChange('ignore_subscription_override', currentTarget.checked ? 'true' : '');
            }}
          />
          Override the policies of subscriptions (queues only)
        </label>
      </fieldset>
    </div>
  );
}

function NumberControl({ field, label, unit, controls }: NumberField & { controls: Controls }) {
  return (
    <InputField
      label={unit === undefined ? label : `${label}, ${unit}`}
      fault={controls.faults.get(field)}
      inputMode="decimal"
      value={controls.draft[field]}
      placeholder={String(DEFAULT_RETRY_POLICY[field])}
      onValue={(text) => {
        controls.onChange(field, text);
      }}
    />
  );
}

function BackoffControls(controls: Controls) {
  return (
    <>
      <ChoiceControl
        field="retry_backoff_function"
        label="Backoff function"
        choices={BACKOFF_FUNCTIONS}
        controls={controls}
      />
      {controls.draft.retry_backoff_function === 'capped_exponential' ? (
        <NumberControl field="backoff_exponent" label="Backoff exponent" controls={controls} />
      ) : null}
    </>
  );
}

function ChoiceControl({
  field,
  label,
  choices,
  controls: { draft, faults, onChange },
}: {
  field: 'jitter' | 'retry_backoff_function';
  label: string;
  choices: readonly string[];
  controls: Controls;
}) {
  return (
    <SelectField
      label={label}
      fault={faults.get(field)}
      value={draft[field]}
      onValue={(text) => {
        onChange(field, text);
      }}
      options={[
        ['', `${DEFAULT_RETRY_POLICY[field]} (default)`],
        ...choices.map((choice) => [choice, choice.replace('_', ' ')] as const),
      ]}
    />
  );
}
