import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction, type Action } from '../../live/use-action.ts';
import { draftOf, EMPTY_DRAFT, validateDraft, type Draft, type Validation } from './draft.ts';
import { storedPolicy, type PolicyOwner } from './store-policy.ts';

type Faults = ReadonlyMap<string, string>;

const NO_FAULTS: Faults = new Map();

export type Design = {
  draft: Draft;
  validation: Validation;
  /** The policy to draw: the last valid one. */
  drawn: RetryPolicy;
  /** Errors by field: of the draft, or else those that the API reported. */
  faults: Faults;
  change: (draft: Draft) => void;
  refuse: (faults: Faults) => void;
  loading: Action<void>;
};

/** The state of the designer. It starts with the owner's stored policy, if there is one. */
export function useDesign(owner: PolicyOwner): Design {
  const { api } = useConsole();
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT);
  const [refused, refuse] = useState(NO_FAULTS);
  const validation = useMemo(() => validateDraft(draft), [draft]);
  const drawn = useRef<RetryPolicy>(DEFAULT_RETRY_POLICY);
  if (validation.ok) drawn.current = validation.complete;
  const change = (next: Draft): void => {
    refuse(NO_FAULTS);
    setDraft(next);
  };
  const { action, run } = useAction(async () => {
    const policy = await storedPolicy(api, owner);
    if (policy !== undefined) change(draftOf(policy));
  });
  const { queue, subscription } = owner;
  useEffect(() => {
    if (queue !== '') run();
  }, [queue, subscription, run]);
  const faults = validation.ok ? refused : validation.faults;
  return { draft, validation, drawn: drawn.current, faults, change, refuse, loading: action };
}
