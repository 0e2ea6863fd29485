import type { ApiClient } from '../../api-client/api-client.ts';
import { listSubscriptions } from '../../api-client/operations.ts';
import { counted } from '../../api-client/words.ts';
import { commandText } from '../../local/command-name.ts';
import type {
  DeadLetter,
  DeadLetterReading,
  RedrivenMessage,
  RedriveOutcome,
} from '../../shared/domain/delivery/dead-letter.ts';
import type { RedrivenQueue } from '../../shared/domain/work-queues.ts';
import type { WorkQueues } from '../../shared/ports/queues.ts';
import {
  readDeliveryDeadLetter,
  readIngressDeadLetter,
  readOperationDeadLetter,
  readUndeliverableNotice,
} from '../../shared/wire/jobs/redrive.ts';
import { queuesBelongTo } from '../api/api-access.ts';
import { isQueue } from '../api/find-subscription.ts';
import type { DeploymentChoice } from '../deployment.ts';
import { failureText } from '../failure-report.ts';
import { INTERRUPTED } from '../interruption.ts';
import { printable } from '../output/text.ts';
import type { Terminal } from '../terminal.ts';
import { type DeadLetterAccess, openDeadLetters } from './dead-letter-access.ts';
import { describeDeadLetter, isUnreadable } from './describe.ts';
import { createMatcher, type DeadLetterFilter } from './look.ts';
import { type DeadLetterRequest, processDeadLetters, type RunResult } from './process-dead-letters.ts';
import { type Recovered, retryUndeliverable, settledOnly } from './undeliverable.ts';

/** `dryRun`: only says what a run would do. */
export type ChangeRequest = Pick<
  DeadLetterRequest<unknown>,
  'startedAt' | 'since' | 'limit' | 'signal' | 'onProgress'
> & { filter?: DeadLetterFilter; dryRun?: boolean };

/**
 * For ingress dead letters. `toQueue`: where they go instead. `evenUnmatched`: also to a queue without a subscription,
 * which loses them.
 */
type IngressOptions = { toQueue?: string | undefined; evenUnmatched?: boolean | undefined };

/** `settled`: only notices that need nothing more. `recovered`: of these, only those of the given deliveries. */
export type DeleteRequest = ChangeRequest & { settled?: boolean | undefined; recovered?: Recovered };

/**
 * Sends dead letters back to their queues, and retries the deliveries of undeliverable notices by the API: only the API
 * can reopen an ended delivery.
 * @throws RunFailedError
 */
export async function redriveDeadLetters(
  access: DeadLetterAccess,
  which: RedrivenQueue,
  { filter = {}, dryRun = false, toQueue, evenUnmatched, ...request }: ChangeRequest & IngressOptions,
): Promise<RunResult> {
  const common = { ...request, wants: createMatcher(which, filter), keep: dryRun };
  const ports = access.portsOf(which);
  if (which === 'undeliverable') {
    const api = await access.api();
    return processDeadLetters(ports, {
      ...common,
      read: readUndeliverableNotice,
      handle: (ended) => retryUndeliverable(api, ended, dryRun),
    });
  }
  const handle = dryRun ? accepted : sendBack(access.workQueues);
  if (which !== 'ingress') {
    const read = which === 'delivery' ? readDeliveryDeadLetter : readOperationDeadLetter;
    return processDeadLetters(ports, { ...common, read, handle });
  }
  // A named reason is a choice.
  const evenUnreadable = filter.reason !== undefined;
  return processDeadLetters(ports, {
    ...common,
    read: (deadLetter) => readToCheck(deadLetter, { toQueue, evenUnmatched, evenUnreadable }),
    handle: sendUnlessLost(access.api, handle),
  });
}

/**
 * A queue that was missing when its message came, or that is given now, may have no subscription yet. `evenUnreadable`:
 * also what dispatch could not read, for a release that can.
 */
function readToCheck(
  deadLetter: DeadLetter,
  { toQueue, evenUnmatched, evenUnreadable }: IngressOptions & { evenUnreadable: boolean },
): DeadLetterReading<CheckedMessage> {
  const { queue, reason } = describeDeadLetter('ingress', deadLetter);
  if (!evenUnreadable && isUnreadable(reason)) return { kind: 'skip', reason };
  const reading = readIngressDeadLetter(deadLetter, toQueue);
  if (reading.kind === 'skip') return reading;
  const target = toQueue ?? (reason === 'unknown_queue' ? queue : undefined);
  const isChecked = target !== undefined && evenUnmatched !== true;
  return { ...reading, message: { message: reading.message, ...(isChecked && { target }) } };
}

/** Sends each message to the queue that it was for. */
export function sendBack(
  workQueues: WorkQueues,
): (messages: readonly RedrivenMessage[]) => Promise<RedriveOutcome[]> {
  return async (messages) => {
    await workQueues.send(messages);
    return accepted(messages);
  };
}

function accepted(messages: readonly unknown[]): Promise<RedriveOutcome[]> {
  return Promise.resolve(messages.map(() => ({ kind: 'redriven' })));
}

/**
 * Deletes dead letters, and returns the ids of the deleted ones. `settled`: only notices of deliveries that were
 * delivered or cancelled, or ended again, since.
 * @throws RunFailedError
 */
export async function deleteDeadLetters(
  access: DeadLetterAccess,
  which: RedrivenQueue,
  { filter = {}, dryRun = false, settled = false, recovered, ...request }: DeleteRequest,
): Promise<RunResult & { ids: string[] }> {
  const ids: string[] = [];
  const api = settled ? await access.api() : undefined;
  const result = await processDeadLetters<DeadLetter>(access.portsOf(which), {
    ...request,
    wants: createMatcher(which, filter),
    keep: dryRun,
    read: (deadLetter) => ({ kind: 'redrive', message: deadLetter, identity: deadLetter.id }),
    handle: async (deadLetters) => {
      const outcomes = await (api === undefined
        ? accepted(deadLetters)
        : settledOnly(api, deadLetters, recovered));
      ids.push(...deadLetters.flatMap(({ id }, index) => (outcomes[index]?.kind === 'redriven' ? [id] : [])));
      return outcomes;
    },
  });
  return { ...result, ids };
}

/** `target`: the queue to check; absent where the message needs no check. */
type CheckedMessage = { message: RedrivenMessage; target?: string };

/**
 * Sends ingress messages back, except to a queue that is missing or has no subscription: later ones do not get a message
 * that was accepted before, except by hand.
 */
function sendUnlessLost(
  api: () => Promise<ApiClient>,
  send: (messages: readonly RedrivenMessage[]) => Promise<unknown>,
): (checked: readonly CheckedMessage[]) => Promise<RedriveOutcome[]> {
  const faults = new Map<string, Promise<string | undefined>>();
  const findFault = (queue: string): Promise<string | undefined> => {
    const fault = faults.get(queue) ?? api().then((client) => faultOfTarget(client, queue));
    faults.set(queue, fault);
    return fault;
  };
  return async (checked) => {
    const outcomes = await Promise.all(
      checked.map(async ({ target }): Promise<RedriveOutcome> => {
        const reason = target === undefined ? undefined : await findFault(target);
        return reason === undefined ? { kind: 'redriven' } : { kind: 'refused', reason };
      }),
    );
    const kept = checked.filter((_, index) => outcomes[index]?.kind === 'redriven');
    if (kept.length > 0) await send(kept.map(({ message }) => message));
    return outcomes;
  };
}

/** Why a message would be lost or return from the queue; undefined if not. */
async function faultOfTarget(api: ApiClient, queue: string): Promise<string | undefined> {
  if (!(await isQueue(api, queue))) return `there is no queue ${queue}`;
  const first = await api.list(listSubscriptions, { path: { queue }, most: 1 }).next();
  return first.done === true ? `queue ${queue} has no subscription` : undefined;
}

const MAX_MS = 40_000;

/**
 * Removes the undeliverable notices that a recovery has settled: those of the deliveries of its selection that need
 * nothing more; without `queue` on every queue. Best effort: prints one line on stderr if it removed some, or could not. Returns the given exit status.
 */
export async function removeSettledNotices(
  exitStatus: number,
  {
    queue,
    subscription,
    ...recovered
  }: Recovered & Partial<Record<'queue' | 'subscription', string | undefined>>,
  choice: DeploymentChoice,
  terminal: Terminal,
): Promise<number> {
  if (exitStatus === INTERRUPTED || !queuesBelongTo(choice, terminal.env)) return exitStatus;
  try {
    await terminal.untilInterrupted(async (signal) => {
      const access = await openDeadLetters(choice, terminal);
      const { handled } = await deleteDeadLetters(access, 'undeliverable', {
        filter: { queue, subscription },
        settled: true,
        recovered,
        startedAt: Infinity,
        signal: AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]),
      });
      if (handled === 0) return;
      const notices = counted(handled, 'settled notice', 'settled notices');
      terminal.printError(`Removed ${notices} from the undeliverable queue of ${printable(access.place)}.`);
    });
  } catch (error) {
    terminal.printError(
      `Settled notices stay in the undeliverable queue (${printable(failureText(error))}). ` +
        `To remove them: ${commandText('deadletters delete undeliverable --settled')}`,
    );
  }
  return exitStatus;
}
