import type { JSX } from 'preact';
import type { FieldError } from '../../../../shared/domain/errors.ts';
import { RETRY_POLICY_PRESETS } from '../../../../shared/domain/retry/policy.ts';
import { POLICY_PRESETS } from '../../../../shared/domain/retry/vocabulary.ts';
import { scheduleText } from '../../parts/facts.tsx';
import { SelectField } from '../../parts/fields.tsx';
import { faultsOf } from './draft.ts';
import { policyIn, withChosen, type PolicyChoice } from './policy-choice.ts';
import { PolicyControls } from './policy-controls.tsx';

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
}): JSX.Element {
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
      >
        <option value="none">{none}</option>
        {POLICY_PRESETS.map((name) => (
          <option key={name} value={name}>
            {name}: {scheduleText(RETRY_POLICY_PRESETS[name])}
          </option>
        ))}
        <option value="custom">custom</option>
      </SelectField>
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
