import type { Command } from 'commander';
import { openApiToWrite } from '../../api/api-client.ts';
import { labelOf, resolveSubscription } from '../../api/find-subscription.ts';
import { switchSubscription } from '../../api/subscriptions.ts';
import { queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

const DESCRIPTIONS = {
  enable: 'Enable a disabled subscription: it receives new messages again.',
  disable:
    'Disable a subscription: no requests are sent. New deliveries are recorded as cancelled, and can be recovered.',
};

/** `posthaste subscription enable` and `disable` */
export function addSubscriptionSwitches(subscription: Command, terminal: Terminal): void {
  for (const to of ['enable', 'disable'] as const) {
    const command = subscription
      .command(to)
      .description(DESCRIPTIONS[to])
      .argument('<queue>', 'name of the queue', queueOf)
      .argument('<subscription>', SUBSCRIPTION, subscriptionOf)
      .action(async (queue: string, reference: string, options: DeploymentOptions) => {
        const api = await openApiToWrite(options, terminal);
        const id = await resolveSubscription(api, queue, reference);
        const view = await switchSubscription(api, queue, id, to);
        if (options.json === true) terminal.printJson(view);
        else
          terminal.print(
            `${to === 'enable' ? 'Enabled' : 'Disabled'} subscription ${printable(view.id)}, ${printable(labelOf(view))}.`,
          );
      });
    onDeployment(command, {
      json: 'the subscription after the change',
      examples: [`subscription ${to} orders 5b0c0f1e`],
    });
  }
}
