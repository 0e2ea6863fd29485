import { ApiRefusal } from '../../../api-client/refusal.ts';
import { commandText } from '../../../local/command-name.ts';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { describeRefusal, failureText } from '../../failure-report.ts';
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
  const more = faults.length > MAX_FAULTS ? `; and ${faults.length - MAX_FAULTS} more` : '';
  return failed(faults.slice(0, MAX_FAULTS).join('; ') + more, advice);
}

const MAX_FAULTS = 5;

/** A check that ran. */
export type Result = Pick<Check, 'id' | 'title'> & { outcome: Outcome; seconds: number };

/**
 * Runs the checks side by side, so that all take as long as the longest; those that need it afterwards, one by one. A check
 * that throws has failed.
 * @throws the signal's reason, after all have ended
 */
export async function runChecks(
  world: World,
  checks: readonly Check[],
  onResult: (result: Result) => void,
): Promise<Result[]> {
  const { signal } = world;
  const results: Result[] = [];
  const run = async (check: Check): Promise<void> => {
    const startedAt = performance.now();
    const outcome = await findOutcome(check, world);
    if (signal.aborted) return;
    const { id, title } = check;
    const result = { id, title, outcome, seconds: (performance.now() - startedAt) / 1000 };
    results.push(result);
    onResult(result);
  };
  // The longest first, so that the others run beside it.
  const together = checks
    .filter(({ alone }) => alone === undefined)
    .toSorted((one, other) => other.seconds - one.seconds);
  await inParallel(together, world.isLocal ? LOCAL_CHECKS : together.length, run);
  for (const check of checks) if (check.alone !== undefined && !signal.aborted) await run(check);
  signal.throwIfAborted();
  return results;
}

/** On the local AWS, whose functions share a few processors. */
const LOCAL_CHECKS = 6;

/** What a check finds; it has failed if it throws. */
export function findOutcome<Scene>({ id, run }: Check<Scene>, scene: Scene): Promise<Outcome> {
  return run(scene).catch((error: unknown) => toFailure(id, error));
}

function toFailure(id: string, error: unknown): Outcome {
  if (error instanceof Error && isNotPermitted(error))
    return notShown(`your credentials do not permit it: ${failureText(error)}`);
  if (error instanceof Refuted) return failed(error.message, error.advice);
  if (error instanceof ApiRefusal) {
    const { detail, advice = 'See the log of the function of the API.' } = describeRefusal(error);
    return failed(detail, advice);
  }
  return failed(
    failureText(error),
    `Run the check again: ${commandText(`accept --only ${id}`)}. If it fails again, report it with this text.`,
  );
}
