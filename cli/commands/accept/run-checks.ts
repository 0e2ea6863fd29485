import { ApiRefusal } from '../../../api-client/refusal.ts';
import { commandText } from '../../../local/command-name.ts';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { describeRefusal, failureText } from '../../failure-report.ts';
import { type Check, failed, isNotPermitted, notShown, type Outcome, Refuted } from './check.ts';
import type { World } from './world.ts';

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
