import type { Command } from 'commander';
import { deliveryPath } from '../../../api-client/deliveries.ts';
import { cancelDelivery, retryDelivery, sendDelivery } from '../../../api-client/operations.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { idOf, queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { addDeliveryAddress, describeDelivery, EXAMPLE_ADDRESS, findAddress } from './delivery-text.ts';
import { addWaiting, type FollowOptions, printStarted } from './follow-delivery.ts';

type Options = DeploymentOptions & FollowOptions & { to: string };

const MORE = `
Sends the message also where it was filtered, where the subscription was added
later, and where it was delivered before: another round begins. The message's
data must be kept: see retainMessages and _retain_messages in docs/settings.md
and docs/api.md.

Exit status with --wait: 0 if it was delivered, 1 if not, 130 if interrupted.
`;

/** `posthaste send` */
export function addSend(command: Command, terminal: Terminal): void {
  addWaiting(
    command
      .argument('<queue>', 'name of the queue', queueOf)
      .argument('<message>', 'id of the message', idOf)
      .requiredOption('--to <SUBSCRIPTION>', `${SUBSCRIPTION} (required)`, subscriptionOf),
  ).action(async (queue: string, messageId: string, options: Options) => {
    const api = await openApiToWrite(options, terminal);
    const subscriptionId = await resolveSubscription(api, queue, options.to);
    const started = await api.call(sendDelivery, deliveryPath({ queue, messageId, subscriptionId }));
    await printStarted(api, started, options, terminal);
  });
  onDeployment(command, {
    json: 'the delivery; with --wait at its end',
    more: MORE,
    examples: ['send orders order-17 --to ACME', 'send orders order-17 --to 5b0c0f1e --wait'],
  });
}

type RetryOptions = DeploymentOptions & FollowOptions;

const RETRY_MORE = `
An open delivery makes its next attempt now. An ended one starts another round
with all retries of its policy. The webhook-id stays the same. The API refuses
a retry while an attempt is in progress, and when the message's data is no
longer kept. After Ctrl-C during --wait, the delivery continues.

Exit status with --wait: 0 if it was delivered, 1 if not, 130 if interrupted.
`;

/** `posthaste retry` */
export function addRetry(command: Command, terminal: Terminal): void {
  addWaiting(addDeliveryAddress(command)).action(
    async (queue: string, message: string, subscription: string, options: RetryOptions) => {
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
