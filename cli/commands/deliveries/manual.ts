import type { ApiClient } from '../../../api-client/api-client.ts';
import { deliveryPath } from '../../../api-client/deliveries.ts';
import { cancelDelivery, getDelivery, retryDelivery, sendDelivery } from '../../../api-client/operations.ts';
import { isNotFound, orElse } from '../../../api-client/refusal.ts';
import { subscriptionLabels } from '../../../api-client/subscription-labels.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText, shellWord } from '../../../local/command-name.ts';
import { isOpenStatus } from '../../../shared/domain/delivery/vocabulary.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { INTERRUPTED } from '../../interruption.ts';
import {
  DELIVERY_ADDRESS,
  MESSAGE_ADDRESS,
  option,
  parseSubscription,
  SUBSCRIPTION,
} from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import { type DeploymentOptions, VERBOSE } from '../../options/deployment-options.ts';
import { clockTime, printable } from '../../output/text.ts';
import { withProgress } from '../../output/progress-line.ts';
import { pollUntilDone } from '../../polling.ts';
import type { Terminal } from '../../terminal.ts';
import { describeDelivery, EXAMPLE_ADDRESS, findAddress, nextText } from './delivery-text.ts';

type FollowOptions = { wait?: true; verbose?: true };

/** Of `printStarted`. */
const WAITING = [
  option('--wait', 'wait until the delivery has ended; exit status 1 if it was not delivered'),
  VERBOSE,
];

/** `posthaste send` */
export const send = deployed<FollowOptions & { to: string }>({
  arguments: MESSAGE_ADDRESS,
  options: [
    option('--to <SUBSCRIPTION>', `${SUBSCRIPTION} (required)`, parseSubscription).makeOptionMandatory(),
    ...WAITING,
  ],
  json: 'the delivery; with --wait at its end',
  more: `
Sends the message also where it was filtered, where the subscription was added
later, and where it was delivered before: another round begins. The message's
data must be kept: by default that of messages with a failed attempt is. To keep
all from now on, also of filtered messages, set _retain_messages of the queue to
"all": see posthaste queue set.

Exit status with --wait: 0 if it was delivered, 1 if not, 130 if interrupted.
`,
  examples: ['send orders order-17 --to ACME', 'send orders order-17 --to 5b0c0f1e --wait'],
  write: async ({ api, options, terminal }, queue, message) => {
    const subscription = await resolveSubscription(api, queue, options.to);
    const started = await api.call(sendDelivery, { path: { queue, subscription, message } });
    await printStarted(api, started, options, terminal);
  },
});

/** `posthaste retry` */
export const retry = deployed<FollowOptions>({
  arguments: DELIVERY_ADDRESS,
  options: WAITING,
  json: 'the delivery after the change; with --wait at its end',
  more: `
An open delivery makes its next attempt now. An ended one starts another round
with all retries of its policy, a delivered one too: its subscriber gets the
message once more. The webhook-id stays the same. The API refuses
a retry while an attempt is in progress, and when the message's data is no
longer kept. After Ctrl-C during --wait, the delivery continues.

Exit status with --wait: 0 if it was delivered, 1 if not, 130 if interrupted.
`,
  examples: [`retry ${EXAMPLE_ADDRESS}`, `retry ${EXAMPLE_ADDRESS} --wait`],
  write: async ({ api, options, terminal }, queue, message, subscription) => {
    const address = await findAddress(api, queue, message, subscription);
    const started = await api.call(retryDelivery, deliveryPath(address));
    await printStarted(api, started, options, terminal);
  },
});

/** `posthaste cancel` */
export const cancel = deployed({
  arguments: DELIVERY_ADDRESS,
  json: 'the delivery after the change',
  more: `
No further attempt starts; an attempt already in progress may still complete. A
cancelled delivery can be retried later.
`,
  examples: [`cancel ${EXAMPLE_ADDRESS}`],
  write: async ({ api, terminal }, queue, message, subscription) => {
    const address = await findAddress(api, queue, message, subscription);
    const delivery = await api.call(cancelDelivery, deliveryPath(address));
    return [delivery, () => describeDelivery(delivery, terminal)];
  },
});

/** Seconds. */
const POLLING = { floor: 0.5, ceiling: 5 };

/** Prints a delivery that was started just now; with `wait`, once it has ended. */
async function printStarted(
  api: ApiClient,
  started: DeliveryView,
  { json, wait, verbose }: FollowOptions & DeploymentOptions,
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
