import type { Command } from 'commander';
import {
  disableSubscription,
  enableSubscription,
  getSubscription,
  listSubscriptions,
  unsubscribe,
} from '../../../api-client/operations.ts';
import { isForbidden, orElse } from '../../../api-client/refusal.ts';
import { labelOf, shortId } from '../../../api-client/subscription-labels.ts';
import { sendTest } from '../../../api-client/test-subscription.ts';
import { waitingText } from '../../../api-client/waiting.ts';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApi, openApiToWrite } from '../../api/open-api.ts';
import {
  addSubscriptionAddress,
  jsonOf,
  objectText,
  queueOf,
  textOf,
  wholeNumberOf,
} from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import { colouredStatus } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import { describeDelivery } from '../deliveries/delivery-text.ts';
import { addSubscriptionCreate, describeSubscription, stateOf, addSubscriptionUpdate } from './change.ts';
import { addSubscriptionExport, addSubscriptionImport } from './transfer.ts';
import { addPullToken, addRotateSecret } from './secrets.ts';

type Options = DeploymentOptions & { limit?: number };

/** `posthaste subscription list` */
export function addSubscriptionList(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('list')
    .description('List the subscriptions of a queue.')
    .argument('<queue>', 'name of the queue', queueOf)
    .option('--limit <N>', 'maximum number of subscriptions (default: all)', wholeNumberOf(1))
    .action(async (queue: string, { limit, ...options }: Options) => {
      const subscriptions = (await openApi(options, terminal)).list(listSubscriptions, {
        path: { queue },
        most: limit,
      });
      await printList(terminal, subscriptions, {
        ...options,
        columns: COLUMNS,
        rowOf: (view) => rowOf(view, terminal),
        none: () =>
          `No subscription yet. Create one with ${commandText(`subscription create ${queue} <URL>`)}`,
      });
    });
  onDeployment(command, {
    json: 'one subscription per line, as in the API',
    examples: ['subscription list orders'],
  });
}

const COLUMNS = [{ head: 'Subscription' }, { head: 'Name' }, { head: 'State' }, { head: 'Subscriber' }];

function rowOf(view: SubscriptionView, terminal: Terminal): string[] {
  const state = colouredStatus(stateOf(view), terminal);
  return [printable(shortId(view.id)), printable(view.name ?? ''), state, printable(view.subscriber)];
}

/** `posthaste subscription show` */
export function addSubscriptionShow(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('show'))
    .description('Show a subscription.')
    .action(async (queue: string, reference: string, options: DeploymentOptions) => {
      const api = await openApi(options, terminal);
      const view = await api.call(getSubscription, {
        path: { queue, subscription: await resolveSubscription(api, queue, reference) },
      });
      if (options.json === true) {
        terminal.printJson(view);
        return;
      }
      const enable = commandText(`subscription enable ${queue} ${printable(shortId(view.id))}`);
      // A caller that may see subscriptions need not see deliveries.
      const waiting = await waitingText(api, queue, view.id).catch(orElse(isForbidden, undefined));
      terminal.print(describeSubscription(view, waiting));
      if (view.disabled !== undefined) terminal.print(`To enable it: ${enable}`);
      else if (view.backPressure !== undefined) terminal.print(`If it works again: ${enable}`);
    });
  onDeployment(command, {
    json: 'the subscription, as in the API',
    examples: ['subscription show orders 5b0c0f1e'],
  });
}

type DeleteOptions = DeploymentOptions & { yes?: true };

const MORE = `
The command asks first; without a terminal to ask on, it requires --yes. A
deleted subscription cannot be restored: disable it to stop its requests.
`;

/** `posthaste subscription delete` */
export function addSubscriptionDelete(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('delete'))
    .description('Delete a subscription and cancel its open deliveries.')
    .option('--yes', 'delete the subscription without a question')
    .action(async (queue: string, reference: string, options: DeleteOptions) => {
      const api = await openApiToWrite(options, terminal);
      const view = await api.call(getSubscription, {
        path: { queue, subscription: await resolveSubscription(api, queue, reference) },
      });
      const { id } = view;
      const what = `subscription ${printable(id)}, ${printable(labelOf(view))}`;
      if (options.yes !== true) {
        const isConfirmed = await terminal.confirm(`Delete ${what}, and cancel its open deliveries?`);
        if (isConfirmed === undefined) return command.error(`error: to delete ${what}, add --yes`);
        if (!isConfirmed) throw new Problem('Nothing was deleted.');
      }
      await api.call(unsubscribe, { path: { queue, subscription: id } });
      terminal.printResult(options, { queue, subscriptionId: id }, () => `Deleted ${what}.`);
    });
  onDeployment(command, {
    json: 'queue, subscriptionId',
    more: MORE,
    examples: ['subscription delete orders 5b0c0f1e', 'subscription delete orders ACME --yes'],
  });
}

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
    const command = addSubscriptionAddress(subscription.command(to))
      .description(DESCRIPTIONS[to])
      .action(async (queue: string, reference: string, options: DeploymentOptions) => {
        const api = await openApiToWrite(options, terminal);
        const id = await resolveSubscription(api, queue, reference);
        const path = { queue, subscription: id };
        const view = await (to === 'enable'
          ? api.call(enableSubscription, { path })
          : api.call(disableSubscription, { path }));
        terminal.printResult(options, view, () => saidOf(to, queue, view));
      });
    onDeployment(command, {
      json: 'the subscription after the change',
      examples: [`subscription ${to} orders 5b0c0f1e`],
    });
  }
}

type TestOptions = DeploymentOptions & { type?: string; data?: string };

const TEST_MORE = `
Exit status: 0 if the first attempt delivered the message, otherwise 1.
`;

/** `posthaste subscription test` */
export function addSubscriptionTest(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('test'))
    .description('Send a test message to one subscription, and show the result.')
    .option('--type <TYPE>', 'type of the message')
    .option('--data <JSON>', 'data of the message', jsonOf)
    .action(async (queue: string, reference: string, { type, data, ...options }: TestOptions) => {
      const body = objectText([
        ['type', textOf(type)],
        ['data', data],
      ]);
      const api = await openApiToWrite(options, terminal);
      const id = await resolveSubscription(api, queue, reference);
      const delivery = await sendTest(api, { queue, subscription: id }, body);
      terminal.printResult(options, delivery, () => describeDelivery(delivery, terminal));
      if (delivery.status !== 'delivered') terminal.exitStatus = 1;
    });
  onDeployment(command, {
    json: 'the delivery',
    more: TEST_MORE,
    examples: [`subscription test orders 5b0c0f1e --data '{"order": 1}'`],
  });
}

export function addSubscriptionCommands(subscription: Command, terminal: Terminal): void {
  addSubscriptionList(subscription, terminal);
  addSubscriptionShow(subscription, terminal);
  addSubscriptionCreate(subscription, terminal);
  addSubscriptionUpdate(subscription, terminal);
  addSubscriptionSwitches(subscription, terminal);
  addSubscriptionDelete(subscription, terminal);
  addRotateSecret(subscription, terminal);
  addPullToken(subscription, terminal);
  addSubscriptionTest(subscription, terminal);
  addSubscriptionExport(subscription, terminal);
  addSubscriptionImport(subscription, terminal);
}
