import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { type Health, readHealth, ping } from '../../../api-client/operations.ts';
import { adviceFor, ApiRefusal } from '../../../api-client/refusal.ts';
import { findApi, queuesBelongTo } from '../../api/api-access.ts';
import { apiClient } from '../../api/open-api.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-report.ts';
import type { Sleep, Terminal } from '../../terminal.ts';
import {
  deadLetterFindings,
  type Finding,
  overdueFinding,
  tableFindings,
  undeliverableFindings,
  WORK_QUEUES,
  workFindings,
} from './health-findings.ts';

/** Milliseconds in which a work queue has to become empty; brief load is normal. */
const PATIENCE_MS = 15_000;
/** Seconds between polls. */
const POLLING = { floor: 0.5, ceiling: 3 };

/** Yields each finding as its check completes. Checks that depend on a failed one are skipped. */
export const examine = async function* (
  choice: DeploymentChoice,
  terminal: Terminal,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const { env, sleep } = terminal;
  const access = await attempt('deployment', () => findApi(choice, env));
  yield access.finding;
  if (access.value === undefined) return;
  const api = apiClient(access.value, sleep);
  const { apiUrl } = access.value;
  const reached = await attempt('API', async () => {
    await api.call(ping, {});
    return { name: apiUrl };
  });
  yield reached.finding;
  if (reached.value === undefined) return;
  const health = await attempt('credentials', async () => ({
    health: await api.call(readHealth, { signal }),
    name: api.name,
  }));
  yield health.finding;
  if (health.value === undefined) return;
  const first = health.value.health;
  yield* tableFindings(first);
  // Loaded only where it is needed: the SDK is large.
  const checks = queuesBelongTo(choice, env) ? await import('./dead-letter-checks.ts') : undefined;
  const reasons = await checks?.lookAtReasons(choice, { ...first, api }, terminal, signal);
  yield* deadLetterFindings(first, reasons);
  yield* undeliverableFindings(first, reasons);
  yield* workFindings(await awaitEmptyQueues(api, first, { sleep, signal }));
  yield overdueFinding(first);
  if (checks !== undefined) yield await checks.examineRedrive(choice, terminal);
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

/** Advice is separate only for refusals; the message of a Problem already contains it. */
function reasonOf(error: unknown): Pick<Finding, 'detail' | 'advice'> {
  if (!(error instanceof ApiRefusal)) return { detail: failureText(error) };
  const advice = adviceFor(error);
  return {
    detail: `${error.request} was refused (${error.status}): ${error.message}`,
    ...(advice !== undefined && { advice }),
  };
}

/** Polls until the work queues are empty or the time is over; returns the lowest count seen of each queue. */
async function awaitEmptyQueues(
  api: ApiClient,
  first: Health,
  { sleep, signal }: { sleep: Sleep; signal: AbortSignal },
): Promise<Health> {
  const deadline = Date.now() + PATIENCE_MS;
  let least = first;
  let interval = pollInterval(POLLING);
  while (isBusy(least) && Date.now() < deadline) {
    await sleep(interval.wait * 1000, signal);
    least = lowestCounts(least, await api.call(readHealth, { signal }));
    interval = interval.afterEmpty();
  }
  return least;
}

function isBusy({ queues = {} }: Health): boolean {
  return WORK_QUEUES.some((name) => (queues[name] ?? 0) > 0);
}

function lowestCounts(before: Health, now: Health): Health {
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
