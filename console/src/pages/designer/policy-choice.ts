import type { PartialRetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { draftOf, EMPTY_DRAFT, validateDraft, type Draft } from './draft.ts';

/** A retry policy in a form: none, or the controls of the designer. */
export type PolicyChoice = { chosen: 'none' | 'custom'; draft: Draft };

export function choiceOf(policy: PartialRetryPolicy | undefined): PolicyChoice {
  return policy === undefined
    ? { chosen: 'none', draft: EMPTY_DRAFT }
    : { chosen: 'custom', draft: draftOf(policy) };
}

/** The value for `_retry_policy` (undefined: none), or the errors by field of the policy. */
export function policyIn({
  chosen,
  draft,
}: PolicyChoice): { ok: true; value: unknown } | { ok: false; faults: ReadonlyMap<string, string> } {
  if (chosen === 'none') return { ok: true, value: undefined };
  const validation = validateDraft(draft);
  return validation.ok ? { ok: true, value: validation.policy } : validation;
}
