import type { Command } from 'commander';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { deliveryPath } from '../../../api-client/deliveries.ts';
import { cancelDelivery, getDelivery, retryDelivery, sendDelivery } from '../../../api-client/operations.ts';
import { isNotFound, orElse } from '../../../api-client/refusal.ts';
import { subscriptionLabels } from '../../../api-client/subscription-labels.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText, shellWord } from '../../../local/command-name.ts';
import { isOpenStatus } from '../../../shared/domain/delivery/vocabulary.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';
import { openApiToWrite, openSubscription } from '../../api/api-access.ts';
import { INTERRUPTED } from '../../interruption.ts';
import { addMessageAddress, parseSubscription, SUBSCRIPTION } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment, VERBOSE } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import { withProgress } from '../../output/progress-line.ts';
import { clockTime } from '../../output/words.ts';
import { pollUntilDone } from '../../polling.ts';
import type { Terminal } from '../../terminal.ts';
import {
  addDeliveryAddress,
  describeDelivery,
  EXAMPLE_ADDRESS,
  findAddress,
  nextText,
} from './delivery-text.ts';

const MORE = `
Sends the message also where it was filtered, where the subscription was added
later, and where it was delivered before: another round begins. The message's
data must be kept: by default that of messages with a failed attempt is. To keep
all from now on, also of filtered messages, set _retain_messages of the queue to
"all": see posthaste queue set.

Exit status with --wait: 0 if it was delivered, 1 if not, 130 if interrupted.
`;

/** `posthaste send` */
export function addSend(command: Command, terminal: Terminal): void {
  addWaiting(
    addMessageAddress(command).requiredOption(
      '--to <SUBSCRIPTION>',
      `${SUBSCRIPTION} (required)`,
      parseSubscription,
    ),
  ).action(async (queue: string, messageId: string, options: FollowOptions & { to: string }) => {
    const { api, path } = await openSubscription(queue, options.to, options, terminal);
    const started = await api.call(sendDelivery, { path: { ...path, message: messageId } });
    await printStarted(api, started, options, terminal);
  });
  onDeployment(command, {
    json: 'the delivery; with --wait at its end',
    more: MORE,
    examples: ['send orders order-17 --to ACME', 'send orders order-17 --to 5b0c0f1e --wait'],
  });
}

const RETRY_MORE = `
An open delivery makes its next attempt now. An ended one starts another round
with all retries of its policy, a delivered one too: its subscriber gets the
message once more. The webhook-id stays the same. The API refuses
a retry while an attempt is in progress, and when the message's data is no
longer kept. After Ctrl-C during --wait, the delivery continues.

Exit status with --wait: 0 if it was delivered, 1 if not, 130 if interrupted.
`;

/** `posthaste retry` */
export function addRetry(command: Command, terminal: Terminal): void {
  addWaiting(addDeliveryAddress(command)).action(
    async (queue: string, message: string, subscription: string, options: FollowOptions) => {
      const api = await openApiToWrite(options, terminal);
      const address = await findAddress(api, queue, message, subscription);
      const started = await api.call(retryDelivery, deliveryPath(address));
      await printStarted(api, started, options, terminal);
    },
  );
  onDeployment(command, {
    json: 'the delivery after the change; with --wait at its end',
    more: RETRY_MORE,
    examples: [`retry ${EXAMPLE_ADDRESS}`, `retry ${EXAMPLE_ADDRESS} --wait`],
  });
}

const CANCEL_MORE = `
No further attempt starts; an attempt already in progress may still complete. A
cancelled delivery can be retried later.
`;

/** `posthaste cancel` */
export function addCancel(command: Command, terminal: Terminal): void {
  addDeliveryAddress(command).action(
    async (queue: string, message: string, subscription: string, options: DeploymentOptions) => {
      const api = await openApiToWrite(options, terminal);
      const address = await findAddress(api, queue, message, subscription);
      const delivery = await api.call(cancelDelivery, deliveryPath(address));
      terminal.printResult(options, delivery, () => describeDelivery(delivery, terminal));
    },
  );
  onDeployment(command, {
    json: 'the delivery after the change',
    more: CANCEL_MORE,
    examples: [`cancel ${EXAMPLE_ADDRESS}`],
  });
}

type FollowOptions = DeploymentOptions & { wait?: true; verbose?: true };

/** Adds the options of `printStarted`. */
function addWaiting(command: Command): Command {
  return command
    .option('--wait', 'wait until the delivery has ended; exit status 1 if it was not delivered')
    .option('--verbose', VERBOSE);
}

/** Seconds. */
const POLLING = { floor: 0.5, ceiling: 5 };

/** Prints a delivery that was started just now; with `wait`, once it has ended. */
async function printStarted(
  api: ApiClient,
  started: DeliveryView,
  { json, wait, verbose }: FollowOptions,
  terminal: Terminal,
): Promise<void> {
  const delivery = wait === true ? await ended(api, started, verbose, terminal) : started;
  const labels = subscriptionLabels(api, started.queue);
  if (json !== true) await labels.load([started.subscriptionId]);
  terminal.printResult({ json }, delivery, () =>
    [
      ...deliveredBeforeText(started),
      describeDelivery(delivery, terminal, labels.of(started.subscriptionId)),
    ].join('\n'),
  );
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

/** Says that the subscriber gets again what it has. */
function deliveredBeforeText({ attempts, lateResults = [] }: DeliveryView): string[] {
  const success = [...attempts, ...lateResults].findLast(({ outcome }) => outcome === 'delivered');
  return success === undefined
    ? []
    : [`It was delivered at ${clockTime(success.startedAt)} already, and is sent once more.`];
}

/** The delivery when it has ended, or when the user interrupts. */
async function ended(
  api: ApiClient,
  started: DeliveryView,
  verbose: boolean | undefined,
  terminal: Terminal,
): Promise<DeliveryView> {
  let last = started;
  await withProgress(terminal, (signal, progress) =>
    pollUntilDone({ limits: POLLING, signal, verbose }, terminal, async () => {
      if (!isOpenStatus(last.status)) return 'done';
      progress.show(progressText(last));
      const { status, attempts } = last;
      // A delivery has no record before its first attempt.
      last = await api
        .call(getDelivery, { ...deliveryPath(started), signal })
        .catch(orElse(isNotFound, last));
      if (!isOpenStatus(last.status)) return 'done';
      return last.status !== status || last.attempts.length !== attempts.length ? 'changed' : 'empty';
    }),
  );
  return last;
}

function progressText({ status, attempts, nextAttempt }: DeliveryView): string {
  const next = nextAttempt === undefined ? '' : `, ${nextText(nextAttempt.dueAt, nextAttempt.waiting)}`;
  return `${status}, ${counted(attempts.length, 'attempt', 'attempts')}${next}`;
}
