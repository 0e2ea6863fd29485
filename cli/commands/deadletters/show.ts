import type { RedrivenQueue } from '../../../shared/domain/work-queues.ts';
import type { DeadLetterDetail } from '../../../shared/wire/views/console.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { parseJson } from '../../../shared/wire/json-slice.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { isQueue, noSuchQueue } from '../../api/missing-queue.ts';
import { type DeadLetterAccess, openDeadLetters } from '../../dead-letters/dead-letter-access.ts';
import { NO_REASON } from '../../dead-letters/filter.ts';
import { runProblem } from '../../dead-letters/run-text.ts';
import { findDeadLetter } from '../../dead-letters/whole-ids.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { printable, printableJson } from '../../output/printable.ts';
import { progressLine } from '../../output/progress-line.ts';
import { fieldLines } from '../../output/table.ts';
import { clockTime } from '../../output/time-text.ts';
import type { Terminal } from '../../terminal.ts';

/** `posthaste deadletters show` */
export async function runShow(
  which: RedrivenQueue,
  id: string,
  options: DeploymentOptions,
  terminal: Terminal,
): Promise<void> {
  const access = await openDeadLetters(options, terminal);
  const progress = progressLine(terminal.stderr, () => Date.now());
  progress.show(`Looking for ${id} …`);
  const found = await terminal
    .untilInterrupted((signal) => findDeadLetter(access.portsOf(which), which, id, signal))
    .catch(runProblem('The look', 'a minute'))
    .finally(progress.clear);
  if (options.json === true) terminal.printJson(found);
  else {
    const missing = await missingQueue(access, found);
    terminal.print(textOf(found));
    if (missing !== undefined) terminal.print(`\n${printable(missing)}`);
  }
}

/** Says that the queue of a dead letter is still missing, and which name was probably meant. Best effort. */
async function missingQueue(
  access: DeadLetterAccess,
  { reason, queue }: DeadLetterDetail,
): Promise<string | undefined> {
  if (reason !== 'unknown_queue' || queue === undefined) return undefined;
  try {
    const api = await access.api();
    return (await isQueue(api, queue)) ? undefined : (await noSuchQueue(api, queue)).message;
  } catch (error) {
    if (error instanceof ApiRefusal || error instanceof Problem) return undefined;
    throw error;
  }
}

function textOf(found: DeadLetterDetail): string {
  const { id, sentAt, receives, reason, queue, messageId, subscriptionIds, attributes, body } = found;
  const fields = fieldLines([
    ['Id', printable(id)],
    ['Sent', clockTime(sentAt)],
    ['Received', receives === undefined ? undefined : `${receives} times`],
    ['Reason', printable(reason ?? NO_REASON)],
    ['Queue', queue === undefined ? undefined : printable(queue)],
    ['Message', messageId === undefined ? undefined : printable(messageId)],
    ['Subscription', subscriptionIds.length === 0 ? undefined : subscriptionIds.map(printable).join(', ')],
    ...Object.entries(attributes).map(
      ([name, value]) => [`Attribute ${printable(name)}`, printable(value)] as const,
    ),
  ]);
  // JSON may be on several lines.
  const text = parseJson(body) === undefined ? printable(body) : printableJson(body);
  return [...fields, '', text].join('\n');
}
