import type {
  DeadLetter,
  DeadLetterReading,
  RedriveOutcome,
  RedrivenMessage,
} from '../../shared/domain/delivery/dead-letter.ts';
import type { RedrivenQueue } from '../../shared/domain/work-queues.ts';
import type { WorkQueues } from '../../shared/ports/queues.ts';
import {
  readDeliveryDeadLetter,
  readIngressDeadLetter,
  readOperationDeadLetter,
  readUndeliverableNotice,
} from '../../shared/wire/jobs/dead-letter.ts';
import type { DeadLetterAccess } from './dead-letter-access.ts';
import { describeDeadLetter } from './describe.ts';
import { type DeadLetterFilter, matcherOf } from './look.ts';
import { type CheckedMessage, sendUnlessLost } from './lost-again.ts';
import { type DeadLetterRequest, processDeadLetters } from './process-dead-letters.ts';
import type { RunResult } from './run-result.ts';
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
export type RedriveRequest = ChangeRequest & {
  toQueue?: string | undefined;
  evenUnmatched?: boolean | undefined;
};

/** `settled`: only notices that need nothing more. `recovered`: of these, only those of the given deliveries. */
export type DeleteRequest = ChangeRequest & { settled?: boolean | undefined; recovered?: Recovered };

/** How to read a dead letter that goes back to a queue unchanged. */
const READERS = {
  delivery: readDeliveryDeadLetter,
  operation: readOperationDeadLetter,
} as const;

/**
 * Sends dead letters back to their queues, and retries the deliveries of undeliverable notices by the API: only the API
 * can reopen an ended delivery.
 * @throws RunFailedError
 */
export async function redriveDeadLetters(
  access: DeadLetterAccess,
  which: RedrivenQueue,
  { filter = {}, dryRun = false, toQueue, evenUnmatched = false, ...request }: RedriveRequest,
): Promise<RunResult> {
  const common = { ...request, wants: matcherOf(which, filter), keep: dryRun };
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
  if (which !== 'ingress') return processDeadLetters(ports, { ...common, read: READERS[which], handle });
  return processDeadLetters(ports, {
    ...common,
    read: (deadLetter) => readToCheck(deadLetter, { toQueue, evenUnmatched }),
    handle: sendUnlessLost(access.api, handle),
  });
}

/** A queue that was missing when its message came, or that is given now, may have no subscription yet. */
function readToCheck(
  deadLetter: DeadLetter,
  { toQueue, evenUnmatched }: { toQueue: string | undefined; evenUnmatched: boolean },
): DeadLetterReading<CheckedMessage> {
  const reading = readIngressDeadLetter(deadLetter, toQueue);
  if (reading.kind === 'skip') return reading;
  const { queue, reason } = describeDeadLetter('ingress', deadLetter);
  const target = toQueue ?? (reason === 'unknown_queue' ? queue : undefined);
  const isChecked = target !== undefined && !evenUnmatched;
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
    wants: matcherOf(which, filter),
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
