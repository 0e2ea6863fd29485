import type { Command } from 'commander';
import { deliveryPath } from '../../../api-client/deliveries.ts';
import { sendDelivery } from '../../../api-client/operations.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { idOf, queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { addWaiting, printStarted, type FollowOptions } from './follow-delivery.ts';

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
