import type { Effort, Judgement } from './content-filter.ts';

/**
 * More than any filter takes on data without lists: of its 4,096 bytes a field has five or more, and there are 100 values and
 * comparisons (content-filter-schema.ts).
 */
const OWN_STEPS = 1_000;

/** For one subscription: some tens of milliseconds of one processor. */
const MAX_STEPS = 200_000;

/** For all subscriptions of a message, beyond what each has of its own. */
const SHARED_STEPS = 2_000_000;

/**
 * The steps that filters may take on one message. Each has some of its own, so that however much others take, the usual
 * filter is always decided; beyond those they draw from what is shared, first come, first served.
 */
export const filterEffort = (): { spend(judge: (effort: Effort) => Judgement): Judgement } => {
  const listsRead: Effort['listsRead'] = new WeakMap();
  let shared = SHARED_STEPS;
  return {
    spend: (judge) => {
      const judgement = judge({ steps: Math.min(MAX_STEPS, OWN_STEPS + shared), listsRead });
      shared -= Math.max(0, judgement.steps - OWN_STEPS);
      return judgement;
    },
  };
};
