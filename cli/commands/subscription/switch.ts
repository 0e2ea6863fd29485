import type { Command } from 'commander';
import { openApiToWrite } from '../../api/api-client.ts';
import { switchSubscription } from '../../api/subscriptions.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
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
      .argument('<subscription>', 'id of the subscription', idOf)
      .action(async (queue: string, id: string, options: DeploymentOptions) => {
        const view = await switchSubscription(await openApiToWrite(options, terminal), queue, id, to);
        if (options.json === true) terminal.printJson(view);
        else
          terminal.print(`${to === 'enable' ? 'Enabled' : 'Disabled'} subscription ${printable(view.id)}.`);
      });
    onDeployment(command, {
      json: 'the subscription after the change',
      examples: [`subscription ${to} orders 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11`],
    });
  }
}
