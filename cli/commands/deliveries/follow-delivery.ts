import type { Command } from 'commander';
import { deliveryPath } from '../../../api-client/deliveries.ts';
import { isOpenStatus } from '../../../shared/domain/delivery/vocabulary.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { getDelivery } from '../../../api-client/operations.ts';
import { isNotFound, orElse } from '../../../api-client/refusal.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText, shellWord } from '../../../local/command-name.ts';
import { INTERRUPTED } from '../../interruption.ts';
import { VERBOSE } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import { withProgress } from '../../output/progress-line.ts';
import { pollUntilDone } from '../../polling.ts';
import type { Terminal } from '../../terminal.ts';
import { describeDelivery, nextText } from './delivery-text.ts';

export type FollowOptions = { json?: true; wait?: true; verbose?: true };

/** Adds the options of `printStarted`. */
export function addWaiting(command: Command): Command {
  return command
    .option('--wait', 'wait until the delivery has ended; exit status 1 if it was not delivered')
    .option('--verbose', VERBOSE);
}

/** Seconds. */
const POLLING = { floor: 0.5, ceiling: 5 };

/** Prints a delivery that was started just now; with `wait`, once it has ended. */
export async function printStarted(
  api: ApiClient,
  started: DeliveryView,
  { json, wait, verbose }: FollowOptions,
  terminal: Terminal,
): Promise<void> {
  const delivery = wait === true ? await ended(api, started, verbose === true, terminal) : started;
  terminal.printResult({ json }, delivery, () => describeDelivery(delivery, terminal));
  if (wait !== true) return;
  if (isOpenStatus(delivery.status)) {
    const { queue, messageId, subscriptionId } = delivery;
    terminal.exitStatus = INTERRUPTED;
    if (json !== true)
      terminal.printError(
        `The delivery continues. To see it: ${commandText(`deliveries show ${queue} ${printable(shellWord(messageId))} ${subscriptionId}`)}`,
      );
  } else if (delivery.status !== 'delivered') terminal.exitStatus = 1;
}

/** The delivery when it has ended, or when the user interrupts. */
async function ended(
  api: ApiClient,
  started: DeliveryView,
  verbose: boolean,
  terminal: Terminal,
): Promise<DeliveryView> {
  let last = started;
  await withProgress(terminal, (signal, progress) => {
    const look = async (): Promise<'done' | 'changed' | 'empty'> => {
      if (!isOpenStatus(last.status)) return 'done';
      progress.show(progressText(last));
      // A delivery has no record before its first attempt.
      const now = await api
        .call(getDelivery, { ...deliveryPath(started), signal })
        .catch(orElse(isNotFound, last));
      const isChanged = now.status !== last.status || now.attempts.length !== last.attempts.length;
      last = now;
      if (!isOpenStatus(now.status)) return 'done';
      return isChanged ? 'changed' : 'empty';
    };
    const polling = pollUntilDone({ limits: POLLING, signal, terminal, verbose }, look);
    return polling.catch(orElse(() => signal.aborted, undefined));
  });
  return last;
}

function progressText({ status, attempts, nextAttempt }: DeliveryView): string {
  const next = nextAttempt === undefined ? '' : `, ${nextText(nextAttempt.dueAt, nextAttempt.waiting)}`;
  return `${status}, ${counted(attempts.length, 'attempt', 'attempts')}${next}`;
}
