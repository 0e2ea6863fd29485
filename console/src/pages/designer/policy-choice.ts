import {
  type PartialRetryPolicy,
  isPresetName,
  RETRY_POLICY_PRESETS,
} from '../../../../shared/domain/retry/policy.ts';
import type { PresetName } from '../../../../shared/domain/retry/vocabulary.ts';
import { draftOf, EMPTY_DRAFT, presetOf, validateDraft, type Draft } from './draft.ts';

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
