import type { OpenDeployment, World } from './world.ts';

/** What a check found. `notShown`: this deployment or this account cannot show it; it is neither passed nor failed. */
export type Outcome =
  | { kind: 'passed'; detail: string }
  | { kind: 'failed'; detail: string; advice: string }
  | { kind: 'notShown'; reason: string };

/** A promise of a deployment, and how it is proved. `Scene`: what that takes. */
export type Check<Scene = World> = {
  /** For `--only`. */
  id: string;
  /** A sentence that is true of a sound deployment. */
  title: string;
  /** How long it takes at most, about. */
  seconds: number;
  /** It would disturb the others, or be disturbed: runs after them, by itself. */
  alone?: true;
  /** @throws what failed; `Refuted` with advice */
  run: (scene: Scene) => Promise<Outcome>;
};

/** It changes nothing, so `posthaste doctor` makes it too. */
export type ReadOnlyCheck = Check<OpenDeployment>;

export function passed(detail: string): Outcome {
  return { kind: 'passed', detail };
}

export function failed(detail: string, advice: string): Outcome {
  return { kind: 'failed', detail, advice };
}

export function notShown(reason: string): Outcome {
  return { kind: 'notShown', reason };
}

/** By the names of the errors of AWS for a caller without a permission. */
export function isNotPermitted({ name }: Error): boolean {
  return /^(?:AccessDenied|NotAuthorized|UnauthorizedOperation)/.test(name);
}

/** A check cannot go on: what was seen instead, and what to do. */
export class Refuted extends Error {
  override readonly name = 'Refuted';
  readonly advice: string;

  constructor(detail: string, advice: string, options?: ErrorOptions) {
    super(detail, options);
    this.advice = advice;
  }
}

/** The first faults as one outcome, or the detail of a pass. False: there is no such fault. */
export function judge(all: readonly (string | false)[], detail: string, advice: string): Outcome {
  const faults = all.filter((fault) => fault !== false);
  if (faults.length === 0) return passed(detail);
  const more = faults.length > MOST_FAULTS ? `; and ${faults.length - MOST_FAULTS} more` : '';
  return failed(faults.slice(0, MOST_FAULTS).join('; ') + more, advice);
}

const MOST_FAULTS = 5;
