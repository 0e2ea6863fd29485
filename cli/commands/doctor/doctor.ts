import type { Command } from 'commander';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { type Health, ping, readHealth } from '../../../api-client/operations.ts';
import { adviceFor, ApiRefusal } from '../../../api-client/refusal.ts';
import { counted, HEALTH_NAMES } from '../../../api-client/words.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import { REDRIVEN_QUEUES } from '../../../shared/domain/work-queues.ts';
import { findApi, queuesBelongTo } from '../../api/api-access.ts';
import { apiClient } from '../../api/open-api.ts';
import { openDeadLetters } from '../../dead-letters/dead-letter-access.ts';
import { lookAtDeadLetters, NO_REASON } from '../../dead-letters/look.ts';
import { isSettled } from '../../dead-letters/undeliverable.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-report.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Sleep, Terminal } from '../../terminal.ts';
import {
  deadLetterFindings,
  type Finding,
  overdueFinding,
  type Reasons,
  tableFindings,
  undeliverableFindings,
  WORK_QUEUES,
  workFindings,
} from './health-findings.ts';

const MORE = `
Checks the deployment, its API, your credentials, the tables, the dead-letter
queues and the reasons in them, the work queues (whether they become empty
within 15 s), overdue retries, and your permissions for redrive. It changes
nothing; its look at the dead letters hides them from others for moments.

Exit status: 0 if every check passes, otherwise 1.
`;

/** `posthaste doctor` */
export function addDoctor(command: Command, terminal: Terminal): void {
  command.action(async (options: DeploymentOptions) => {
    let failing = 0;
    await terminal.untilInterrupted(async (signal) => {
      for await (const finding of examine(options, terminal, signal)) {
        if (!finding.ok) failing += 1;
        const { check, ok, ...more } = finding;
        const state = ok ? 'ok' : 'failing';
        terminal.printResult(options, { check, state, ...more }, () => findingText(finding));
      }
    });
    const summary = failing === 0 ? 'All checks passed.' : `${counted(failing, 'check', 'checks')} failed.`;
    if (options.json !== true) terminal.print(summary);
    if (failing > 0) terminal.exitStatus = 1;
  });
  onDeployment(command, {
    json: 'one check per line: check, state, detail, advice',
    more: MORE,
    examples: ['doctor', 'doctor --deployment Posthaste --json'],
  });
}

function findingText({ check, ok, detail, advice }: Finding): string {
  const line = `${ok ? 'ok      ' : 'failing '}  ${check.padEnd(24)}  ${printable(detail)}`;
  return advice === undefined ? line : `${line}\n${' '.repeat(10)}→ ${printable(advice)}`;
}

/** Milliseconds in which a work queue has to become empty; brief load is normal. */
const PATIENCE_MS = 15_000;
/** Seconds between polls. */
const POLLING = { floor: 0.5, ceiling: 3 };

/** Yields each finding as its check completes. Checks that depend on a failed one are skipped. */
const examine = async function* (
  choice: DeploymentChoice,
  terminal: Terminal,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const { env, sleep } = terminal;
  const access = yield* attempt(
    'deployment',
    ({ name }) => name,
    () => findApi(choice, env),
  );
  if (access === undefined) return;
  const api = apiClient(access, sleep);
  const reached = yield* attempt(
    'API',
    () => access.apiUrl,
    async () => {
      await api.call(ping, {});
      return true;
    },
  );
  if (reached === undefined) return;
  const first = yield* attempt(
    'credentials',
    () => api.name,
    () => api.call(readHealth, { signal }),
  );
  if (first === undefined) return;
  yield* tableFindings(first);
  const isKnown = queuesBelongTo(choice, env);
  const reasons = isKnown ? await lookAtReasons(choice, { ...first, api }, terminal, signal) : undefined;
  yield* deadLetterFindings(first, reasons);
  yield* undeliverableFindings(first, reasons);
  yield* workFindings(await awaitEmptyQueues(api, first, { sleep, signal }));
  yield overdueFinding(first);
  if (isKnown) yield await examineRedrive(choice, terminal);
};

/** Yields whether the work succeeds, and returns its value; undefined if it fails. */
const attempt = async function* <Value>(
  check: string,
  detailOf: (value: Value) => string,
  work: () => Promise<Value>,
): AsyncGenerator<Finding, Value | undefined> {
  try {
    const value = await work();
    yield { check, ok: true, detail: detailOf(value) };
    return value;
  } catch (error) {
    yield { check, ok: false, ...reasonOf(error) };
    return undefined;
  }
};

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
  const lowest = Object.entries(now.queues ?? {}).map(
    ([name, count]) => [name, Math.min(count, before.queues?.[name] ?? count)] as const,
  );
  return { ...now, queues: Object.fromEntries(lowest) };
}

/** Messages of each queue. */
const LIMIT = 200;

/** Counts the reasons of the queues that hold something. Best effort: without permission the counts have to do. */
async function lookAtReasons(
  choice: DeploymentChoice,
  { api, queues = {} }: Pick<Health, 'queues'> & { api: ApiClient },
  terminal: Pick<Terminal, 'env' | 'sleep'>,
  signal: AbortSignal,
): Promise<Reasons> {
  const filled = REDRIVEN_QUEUES.filter((which) => (queues[HEALTH_NAMES[which]] ?? 0) > 0);
  if (filled.length === 0) return {};
  try {
    const { portsOf } = await openDeadLetters(choice, terminal);
    const found = filled.map(async (which) => {
      const { items, result } = await lookAtDeadLetters(portsOf(which), { which, limit: LIMIT, signal, api });
      const states = items.flatMap(({ state }) => (state === undefined ? [] : [state]));
      const counts = {
        read: items.length,
        isComplete: result.end === 'emptied' || result.left === 0,
        reasons: countsOf(items.map(({ reason = NO_REASON }) => reason)),
        ...(states.length > 0 && { settled: states.filter(isSettled).length }),
      };
      return [which, counts] as const;
    });
    return Object.fromEntries(await Promise.all(found));
  } catch (error) {
    if (signal.aborted) throw error;
    return {};
  }
}

function countsOf(reasons: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(reasons, (reason) => reason)].map(([reason, { length }]) => [reason, length]),
  );
}

/** Checks whether the caller may read the queues that redrive uses. */
async function examineRedrive(
  choice: DeploymentChoice,
  terminal: Pick<Terminal, 'env' | 'sleep'>,
): Promise<Finding> {
  const check = 'access for redrive';
  try {
    const { portsOf } = await openDeadLetters(choice, terminal);
    for (const which of REDRIVEN_QUEUES) await portsOf(which).deadLetters.counts();
    return { check, ok: true, detail: 'the dead-letter queues can be read' };
  } catch (error) {
    const advice =
      'Grant the SQS permissions that docs/operations.md, "Redrive", lists for posthaste redrive.';
    return { check, ok: false, detail: failureText(error), advice };
  }
}
