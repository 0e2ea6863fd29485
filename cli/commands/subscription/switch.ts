import type { Command } from 'commander';
import { disableSubscription, enableSubscription } from '../../../api-client/operations.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { labelOf, shortId } from '../../../api-client/subscription-labels.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { commandText } from '../../../local/command-name.ts';
import { queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

const DESCRIPTIONS = {
  enable:
    'Enable a disabled subscription: it receives new messages again. Ends the back-pressure of one that is slowed.',
  disable:
    'Disable a subscription: no requests are sent. New deliveries are recorded as cancelled, and can be recovered.',
};

function saidOf(to: keyof typeof DESCRIPTIONS, queue: string, view: SubscriptionView): string {
  const which = `subscription ${printable(view.id)}, ${printable(labelOf(view))}.`;
  if (to === 'disable') return `Disabled ${which}`;
  const recover = commandText(`recover start ${queue} --subscription ${shortId(view.id)} --since 1d`);
  return `Enabled ${which}\nTo recover what it missed in the last day: ${recover}`;
}

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
        const path = { queue, subscription: id };
        const view = await (to === 'enable'
          ? api.call(enableSubscription, { path })
          : api.call(disableSubscription, { path }));
        if (options.json === true) terminal.printJson(view);
        else terminal.print(saidOf(to, queue, view));
      });
    onDeployment(command, {
      json: 'the subscription after the change',
      examples: [`subscription ${to} orders 5b0c0f1e`],
    });
  }
}
