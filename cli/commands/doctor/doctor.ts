import type { ApiClient } from '../../../api-client/api-client.ts';
import { type Health, ping, readHealth } from '../../../api-client/operations.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { counted, HEALTH_NAMES } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import { REDRIVEN_QUEUES, type RedrivenQueue } from '../../../shared/domain/work-queues.ts';
import { findApi, queuesBelongTo, apiClient } from '../../api/api-access.ts';
import { openDeadLetters } from '../../dead-letters/dead-letter-access.ts';
import { isUnreadable } from '../../dead-letters/describe.ts';
import { lookAtDeadLetters, NO_REASON } from '../../dead-letters/look.ts';
import { isSettled } from '../../dead-letters/undeliverable.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import { describeRefusal, failureText } from '../../failure-report.ts';
import { orAfter } from '../../interruption.ts';
import { deployed } from '../../options/deployed.ts';
import { countsText, printable } from '../../output/text.ts';
import { pollUntilDone } from '../../polling.ts';
import type { Terminal } from '../../terminal.ts';
import type { Outcome } from '../accept/check.ts';
import { examineQueues } from './queues.ts';

/** `posthaste doctor` */
export const doctor = deployed({
  json: 'one check per line: check, state, detail, advice',
  more: `
Checks the deployment, its API, your credentials, the tables, the dead-letter
queues and the reasons in them, the work queues (whether they become empty
within 15 s), overdue retries, queues whose messages match nothing, and those
with failing, disabled or paused subscriptions (notices, no failures), your
permissions for redrive, and what accept checks without messages: event sources,
the timer, reserved concurrency, tables, quotas, roles, and that AWS has what
the templates say, which takes up to two minutes. It changes nothing; its look
at the dead letters hides them from others for moments.

A check that is not shown has neither passed nor failed: your credentials do
not permit it, or the deployment lacks what it needs.

Exit status: 0 if no check fails, otherwise 1.
`,
  examples: ['doctor', 'doctor --deployment Posthaste --json'],
  run: async ({ options, terminal }) => {
    const counts = { failing: 0, notice: 0, ok: 0, notShown: 0 };
    await terminal.untilInterrupted(async (signal) => {
      for await (const finding of examine(options, terminal, signal)) {
        counts[finding.state] += 1;
        terminal.printResult(options, finding, () => findingText(finding));
      }
    });
    if (options.json !== true) terminal.print(summaryText(counts));
    if (counts.failing > 0) terminal.exitStatus = 1;
  },
});

function summaryText({ failing, notice }: Readonly<Record<Finding['state'], number>>): string {
  const notices = notice === 0 ? '' : `; ${counted(notice, 'notice', 'notices')}`;
  if (failing > 0) return `${counted(failing, 'check', 'checks')} failed${notices}.`;
  return notice === 0 ? 'All checks passed.' : `No check failed${notices}.`;
}

function findingText({ check, state, detail, advice }: Finding): string {
  const word = state === 'notShown' ? 'not shown' : state;
  const line = `${word.padEnd(9)}  ${check.padEnd(24)}  ${printable(detail)}`;
  return advice === undefined ? line : `${line}\n${' '.repeat(11)}→ ${printable(advice)}`;
}

/** In which a work queue has to become empty; brief load is normal. */
const PATIENCE_SECONDS = 15;
/** Seconds between polls. */
const POLLING = { floor: 0.5, ceiling: 3 };

/** Yields each finding as its check completes. Checks that depend on a failed one are skipped. */
const examine = async function* (
  choice: DeploymentChoice,
  terminal: Terminal,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const { env, sleep } = terminal;
  const access = yield* attempt('deployment', findApi(choice, env), ({ name }) => name);
  if (access === undefined) return;
  const api = apiClient(access, sleep);
  const pinged = api.call(ping, {}).then(() => true);
  if ((yield* attempt('API', pinged, () => access.apiUrl)) === undefined) return;
  const first = yield* attempt('credentials', api.call(readHealth, { signal }), () => api.name);
  if (first === undefined) return;
  yield* tableFindings(first);
  const isKnown = queuesBelongTo(choice, env);
  const reasons = isKnown ? await lookAtReasons(choice, { ...first, api }, terminal, signal) : undefined;
  yield* deadLetterFindings(first, reasons);
  yield* undeliverableFindings(first, reasons);
  yield* workFindings(await awaitEmptyQueues(api, first, signal, terminal));
  yield overdueFinding(first);
  yield* await examineQueues(api, signal);
  if (!isKnown) return;
  yield await examineRedrive(choice, terminal);
  yield* examineResources(choice, terminal, signal);
};

/** Yields whether the work succeeds, and returns its value; undefined if it fails. */
const attempt = async function* <Value>(
  check: string,
  work: Promise<Value>,
  detailOf: (value: Value) => string,
): AsyncGenerator<Finding, Value | undefined> {
  try {
    const value = await work;
    yield { check, state: 'ok', detail: detailOf(value) };
    return value;
  } catch (error) {
    // Advice is separate only for refusals; the message of a Problem already contains it.
    const failure = error instanceof ApiRefusal ? describeRefusal(error) : { detail: failureText(error) };
    yield { check, state: 'failing', ...failure };
    return undefined;
  }
};

/** Polls until the work queues are empty or the time is over; returns the lowest count seen of each queue. */
async function awaitEmptyQueues(
  api: ApiClient,
  first: Health,
  interrupted: AbortSignal,
  terminal: Terminal,
): Promise<Health> {
  let least = first;
  const signal = orAfter(interrupted, PATIENCE_SECONDS);
  await pollUntilDone({ limits: POLLING, signal, verbose: undefined }, terminal, async () => {
    if (!isBusy(least)) return 'done';
    least = lowestCounts(least, await api.call(readHealth, { signal }));
    return isBusy(least) ? 'empty' : 'done';
  });
  interrupted.throwIfAborted();
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
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Reasons> {
  const filled = REDRIVEN_QUEUES.filter((which) => (queues[HEALTH_NAMES[which]] ?? 0) > 0);
  if (filled.length === 0) return {};
  try {
    const { portsOf } = await openDeadLetters(choice, terminal);
    const found = filled.map(async (which) => {
      const { items, result } = await lookAtDeadLetters(portsOf(which), { which, limit: LIMIT, signal, api });
      const states = items.flatMap(({ state }) => (state === undefined ? [] : [state]));
      const byReason = Map.groupBy(items, ({ reason = NO_REASON }) => reason);
      const counts = {
        read: items.length,
        isComplete: result.end === 'emptied' || result.left === 0,
        reasons: Object.fromEntries([...byReason].map(([reason, { length }]) => [reason, length])),
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

/** What `posthaste accept` checks without changing anything: side by side, the slowest last. */
const examineResources = async function* (
  choice: DeploymentChoice,
  terminal: Terminal,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  // Loaded only here: their SDK clients would delay the first findings.
  const { readOnlyChecks } = await import('../accept/checks/read-only.ts');
  const { findOutcome } = await import('../accept/check.ts');
  const { openDeployment } = await import('../accept/world.ts');
  const deployment = await openDeployment(choice, terminal, signal);
  const running = readOnlyChecks
    .toSorted((one, other) => one.seconds - other.seconds)
    .map((check) => ({ check: check.id, outcome: findOutcome(check, deployment) }));
  for (const { check, outcome } of running) {
    const found = await outcome;
    signal.throwIfAborted();
    yield { check, ...toFinding(found) };
  }
};

function toFinding(outcome: Outcome): Omit<Finding, 'check'> {
  switch (outcome.kind) {
    case 'passed':
      return { state: 'ok', detail: outcome.detail };
    case 'failed':
      return { state: 'failing', detail: outcome.detail, advice: outcome.advice };
    case 'notShown':
      return { state: 'notShown', detail: outcome.reason };
  }
}

/** Checks whether the caller may read the queues that redrive uses. */
async function examineRedrive(choice: DeploymentChoice, terminal: Terminal): Promise<Finding> {
  const check = 'access for redrive';
  try {
    const { portsOf } = await openDeadLetters(choice, terminal);
    for (const which of REDRIVEN_QUEUES) await portsOf(which).deadLetters.counts();
    return { check, state: 'ok', detail: 'the dead-letter queues can be read' };
  } catch (error) {
    const advice =
      'Grant the SQS permissions that docs/operations.md, "Redrive", lists for posthaste redrive.';
    return { check, state: 'failing', detail: failureText(error), advice };
  }
}

/**
 * The result of one check. `notice`: the deployment works, and an operator should know. `notShown`: it has neither passed
 * nor failed. `advice`: what to do next.
 */
type Finding = {
  check: string;
  state: 'ok' | 'notice' | 'failing' | 'notShown';
  detail: string;
  advice?: string | undefined;
};

/** What a bounded look at a queue found. `settled`: notices that need nothing more; absent if that is not known. */
type ReasonCounts = {
  read: number;
  isComplete: boolean;
  reasons: Readonly<Record<string, number>>;
  settled?: number;
};

type Reasons = Partial<Record<RedrivenQueue, ReasonCounts>>;

const TABLES: Readonly<Record<string, string>> = {
  subscriptionsTable: 'subscriptions table',
  deliveriesTable: 'deliveries table',
  queues: 'queue counts',
};

/** Findings on the tables and queues that the deployment depends on. */
function tableFindings({ checks }: Health): Finding[] {
  const advice = 'See the log of the Api function for the reason (docs/operations.md).';
  return Object.entries(checks).map(([name, state]) => {
    const check = TABLES[name] ?? name;
    return state === 'ok'
      ? { check, state: 'ok', detail: 'available' }
      : { check, state: 'failing', detail: 'not available', advice };
  });
}

type DeadLetterQueue = Exclude<RedrivenQueue, 'undeliverable'>;

const CAUSES: Readonly<Record<DeadLetterQueue, string>> = {
  ingress: 'Find the cause (docs/operations.md, "Ingress dead letters")',
  delivery: 'Find the cause (docs/operations.md, "Delivery dead letters")',
  operation: 'Find the cause (docs/operations.md, "Operation dead letters")',
};

/** Findings on the dead-letter queues: any message is a failure. `reasons`: what a look at them found, if there was one. */
function deadLetterFindings({ queues = {} }: Health, reasons: Reasons = {}): Finding[] {
  const redriven = (['ingress', 'delivery', 'operation'] as const).flatMap((which) => {
    const more = reasonsText(reasons[which]);
    const advice = deadLetterAdvice(which, reasons[which]);
    return countFinding(`${which} dead letters`, queues[HEALTH_NAMES[which]], 'none', { more, advice });
  });
  const advice =
    'Check for changes of the scheduler role or the retry queue, then purge them: reconcile has already started their retries.';
  return [
    ...redriven,
    ...countFinding('scheduler dead letters', queues['schedulerDeadLetters'], 'none', { advice }),
  ];
}

/** Only of the ingress queue the reason says what to do. */
function deadLetterAdvice(which: DeadLetterQueue, look: ReasonCounts | undefined): string {
  const reasons = which === 'ingress' ? Object.keys(look?.reasons ?? {}) : [];
  const unreadable = [...new Set(reasons.filter(isUnreadable).map((reason) => reason.split(':')[0]))];
  const others = reasons.filter((reason) => !isUnreadable(reason) && reason !== UNKNOWN_QUEUE);
  const isAll = reasons.length > 0 && others.length === 0;
  const toQueue = commandText(`redrive ingress --reason ${UNKNOWN_QUEUE} --to-queue QUEUE`);
  return [
    `See them: ${commandText(`deadletters list ${which}`)}`,
    ...(reasons.includes(UNKNOWN_QUEUE)
      ? [`Correct the name of the queue at the producer, then run ${toQueue}`]
      : []),
    ...unreadable.map(
      (reason) =>
        `Correct what the producer sends (${reason}), and delete them: ${commandText(`deadletters delete ingress --reason ${reason}`)}`,
    ),
    ...(isAll ? [] : [`${CAUSES[which]}, then redrive them: ${commandText(`redrive ${which}`)}`]),
  ].join('. ');
}

const UNKNOWN_QUEUE = 'unknown_queue';

/** None where the deployment does not count. `more`: what follows the count. */
function countFinding(
  check: string,
  count: number | undefined,
  empty: 'none' | 'empty',
  { state = 'failing', more = '', advice }: { state?: Finding['state']; more?: string; advice: string },
): Finding[] {
  if (count === undefined) return [];
  if (count === 0) return [{ check, state: 'ok', detail: empty }];
  return [{ check, state, detail: `about ${count}${more}`, advice }];
}

/** `: not_json 2, none 1` */
function reasonsText(look: ReasonCounts | undefined): string {
  if (look === undefined || look.read === 0) return '';
  return `${look.isComplete ? '' : `; of ${look.read} read`}: ${countsText(look.reasons)}`;
}

/** The queues that the functions consume. */
const WORK_QUEUES = ['ingress', 'delivery', 'retry', 'operation'];

/** Findings on the work queues. `queues` holds the lowest count seen of each. */
function workFindings({ queues = {} }: Health): Finding[] {
  const more = ' waiting; it did not become empty within 15 s';
  const advice =
    'This is normal under load. If it grows, see docs/operations.md, "When a queue holds something".';
  return WORK_QUEUES.flatMap((queue) =>
    countFinding(`${queue} queue`, queues[queue], 'empty', { more, advice }),
  );
}

/** Never a failure: the cause is with the subscribers, not with the deployment. */
function undeliverableFindings({ queues = {} }: Health, reasons: Reasons = {}): Finding[] {
  const look = reasons.undeliverable;
  const settled = look?.settled ?? 0;
  const more = reasonsText(look) + (settled === 0 ? '' : `; ${settled} settled since`);
  const advice = undeliverableAdvice(look, settled).join('. ');
  return countFinding('undeliverable queue', queues['undeliverable'], 'empty', { state: 'ok', more, advice });
}

function undeliverableAdvice(look: ReasonCounts | undefined, settled: number): string[] {
  const removal =
    settled === 0
      ? []
      : [`Remove the settled ones: ${commandText('deadletters delete undeliverable --settled')}`];
  if (settled > 0 && look?.isComplete === true && settled === look.read) return removal;
  return [
    `See them: ${commandText('deadletters list undeliverable')}`,
    ...removal,
    `Retry ${settled === 0 ? 'them' : 'the others'} once their subscribers work: ${commandText('redrive undeliverable')}`,
  ];
}

function overdueFinding({ overdue }: Health): Finding {
  const check = 'overdue retries';
  if (overdue === 0) return { check, state: 'ok', detail: 'none' };
  return {
    check,
    state: 'failing',
    detail: overdue === undefined ? 'could not be counted' : `${overdue}${overdue >= 1000 ? ' or more' : ''}`,
    advice:
      'reconcile starts them within two minutes. If they stay overdue, see docs/operations.md, "Alarm retries late".',
  };
}
