import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import { findApi, type ApiAccess } from '../../api/api-access.ts';
import { apiClient } from '../../api/api-client.ts';
import type { ApiClient } from '../../api/api-request.ts';
import { adviceFor, ApiRefusal } from '../../api/api-refusal.ts';
import { ping, readHealth, type Health } from '../../api/service.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-text.ts';
import type { Sleep, Terminal } from '../../terminal.ts';
import {
  deadLetterFindings,
  type Finding,
  overdueFinding,
  tableFindings,
  WORK_QUEUES,
  workFindings,
} from './health-findings.ts';

/** How long a queue may hold something before it counts as stuck: load that passes is no fault. Milliseconds. */
const PATIENCE_MS = 15_000;
/** Seconds between looks. */
const POLLING = { floor: 0.5, ceiling: 3 };

/** Check after check, each as it is done. What rests on one that fails is left out. */
export const examine = async function* (
  choice: DeploymentChoice,
  { env, sleep }: Terminal,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const access = await attempt('deployment', () => findApi(choice, env));
  yield access.finding;
  if (access.value === undefined) return;
  const api = apiClient(access.value, sleep);
  const reached = await attempt('API', () => reach(api, access.value));
  yield reached.finding;
  if (reached.value === undefined) return;
  const health = await attempt('credentials', async () => ({
    health: await readHealth(api, signal),
    name: api.name,
  }));
  yield health.finding;
  if (health.value === undefined) return;
  const first = health.value.health;
  yield* tableFindings(first);
  yield* deadLetterFindings(first);
  yield* workFindings(await whenQuiet(api, first, { sleep, signal }));
  yield overdueFinding(first);
  if (env['POSTHASTE_API_URL'] === undefined) yield await redriveFinding(choice, sleep);
};

type Attempt<Value> = { finding: Finding; value?: Value };

async function attempt<Value extends { name: string }>(
  check: string,
  work: () => Promise<Value>,
): Promise<Attempt<Value>> {
  try {
    const value = await work();
    return { finding: { check, ok: true, detail: value.name }, value };
  } catch (error) {
    return { finding: { check, ok: false, ...reasonOf(error) } };
  }
}

/** A Problem says itself what to do. */
function reasonOf(error: unknown): Pick<Finding, 'detail' | 'advice'> {
  if (!(error instanceof ApiRefusal)) return { detail: failureText(error) };
  const advice = adviceFor(error);
  return {
    detail: `${error.request} was refused (${error.status}): ${error.message}`,
    ...(advice !== undefined && { advice }),
  };
}

async function reach(api: ApiClient, access: ApiAccess | undefined): Promise<{ name: string }> {
  await ping(api);
  return { name: access?.apiUrl ?? '' };
}

/** Looks again as long as something waits in the work queues, and keeps the least that each held. */
async function whenQuiet(
  api: ApiClient,
  first: Health,
  { sleep, signal }: { sleep: Sleep; signal: AbortSignal },
): Promise<Health> {
  const deadline = Date.now() + PATIENCE_MS;
  let least = first;
  let interval = pollInterval(POLLING);
  while (isBusy(least) && Date.now() < deadline) {
    await sleep(interval.wait * 1000, signal);
    least = leastOf(least, await readHealth(api, signal));
    interval = interval.afterEmpty();
  }
  return least;
}

function isBusy({ queues = {} }: Health): boolean {
  return WORK_QUEUES.some((name) => (queues[name] ?? 0) > 0);
}

function leastOf(before: Health, now: Health): Health {
  return {
    ...now,
    queues: Object.fromEntries(
      Object.entries(now.queues ?? {}).map(([name, count]) => [
        name,
        Math.min(count, before.queues?.[name] ?? count),
      ]),
    ),
  };
}

async function redriveFinding(choice: DeploymentChoice, sleep: Sleep): Promise<Finding> {
  // Not loaded before: the SDK is large.
  const { examineRedrive } = await import('./examine-redrive.ts');
  return examineRedrive(choice, sleep);
}
