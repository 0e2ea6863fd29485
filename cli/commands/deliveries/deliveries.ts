import { type Command, Option } from 'commander';
import type { ApiClient } from '../../../api-client/api-client.ts';
import {
  type DeliveryFilter,
  deliveryPath,
  deliveryQuery,
  summaryOf,
} from '../../../api-client/deliveries.ts';
import {
  getDelivery,
  listDeliveries,
  listDeliveriesOfMessage,
  listDeliveriesOfSubscription,
  type ListedDelivery,
} from '../../../api-client/operations.ts';
import {
  shortId,
  subscriptionLabels,
  type SubscriptionLabels,
} from '../../../api-client/subscription-labels.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApi } from '../../api/open-api.ts';
import { idOf, queueOf, wholeNumberOf } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import { colouredStatus } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import {
  addDeliveryAddress,
  addDeliveryFilter,
  describeDelivery,
  EXAMPLE_ADDRESS,
  findAddress,
  statusText,
  whenText,
} from './delivery-text.ts';
import { addDeliveriesWatch } from './watch.ts';

export function addDeliveryCommands(deliveries: Command, terminal: Terminal): void {
  addDeliveriesList(deliveries, terminal);
  addDeliveriesShow(deliveries, terminal);
  addDeliveriesWatch(deliveries, terminal);
}

/** `posthaste deliveries show` */
function addDeliveriesShow(deliveries: Command, terminal: Terminal): void {
  const command = addDeliveryAddress(
    deliveries.command('show').description('Show a delivery with its attempts and planned retries.'),
  ).action(async (queue: string, message: string, subscription: string, options: DeploymentOptions) => {
    const api = await openApi(options, terminal);
    const address = await findAddress(api, queue, message, subscription);
    const delivery = await api.call(getDelivery, deliveryPath(address));
    const labels = subscriptionLabels(api, queue);
    if (options.json !== true) await labels.load([delivery.subscriptionId]);
    terminal.printResult(options, delivery, () =>
      describeDelivery(delivery, terminal, labels.of(delivery.subscriptionId)),
    );
  });
  onDeployment(command, {
    json: 'the delivery, as in the API',
    examples: [`deliveries show ${EXAMPLE_ADDRESS}`],
  });
}

type Options = DeploymentOptions & DeliveryFilter & { message?: string; all?: true; limit?: number };

/** `posthaste deliveries list` */
export function addDeliveriesList(deliveries: Command, terminal: Terminal): void {
  const command = deliveries
    .command('list')
    .description('List open and failed deliveries, newest first, or all deliveries of a message.')
    .argument('<queue>', 'name of the queue', queueOf)
    .addOption(
      new Option('--message <ID>', 'all deliveries of this message, including delivered ones')
        .argParser(idOf)
        .conflicts(['status', 'subscription', 'since', 'until']),
    )
    .addOption(
      new Option(
        '--all',
        'with --subscription: delivered ones too, of the last 24 h without --since',
      ).conflicts(['status', 'message']),
    )
    .option('--deleted', 'list deliveries of a deleted queue')
    .option(
      '--limit <N>',
      'maximum number of deliveries (default: 100 for a queue, all for a message)',
      wholeNumberOf(1),
    )
    .action(async (queue: string, { message, all, limit, json, ...options }: Options) => {
      if (all === true && options.subscription === undefined)
        command.error('error: --all needs --subscription');
      const api = await openApi(options, terminal);
      const labels = subscriptionLabels(api, queue);
      const form = {
        ...(json && { json }),
        columns: COLUMNS,
        prepare: async (items: readonly { subscriptionId: string }[]) => {
          if (options.deleted !== true) await labels.load(items.map(({ subscriptionId }) => subscriptionId));
        },
        none: () => noneText({ message, all, status: options.status }),
      };
      const rowOfListed = (delivery: ListedDelivery): string[] => rowOf(delivery, labels, terminal);
      if (message === undefined) {
        const filter = await filterFrom(api, queue, options);
        const listed = (all === true ? listAll : listUndelivered)(api, queue, filter, limit);
        await printList(terminal, listed, { ...form, rowOf: rowOfListed });
      } else {
        const found = api.list(listDeliveriesOfMessage, { path: { queue, message }, most: limit });
        await printList(terminal, found, { ...form, rowOf: (view) => rowOfListed(summaryOf(view)) });
      }
    });
  onDeployment(addDeliveryFilter(command), {
    json: 'one delivery per line, as in the API',
    examples: [
      'deliveries list orders --status exhausted --since 2h',
      'deliveries list orders --message order-17',
      'deliveries list orders --subscription 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11 --all',
    ],
  });
}

/** `given`: the options that ask for other deliveries than the open and failed ones. */
function noneText(given: Readonly<Record<'message' | 'all' | 'status', unknown>>): string {
  return Object.values(given).every((value) => value === undefined)
    ? 'No open or failed deliveries. Delivered ones: --message ID, or --subscription ID --all'
    : 'No matching deliveries.';
}

function listUndelivered(api: ApiClient, queue: string, filter: DeliveryFilter, most = 100) {
  return api.list(listDeliveries, { path: { queue }, query: deliveryQuery(filter), most });
}

function listAll(api: ApiClient, queue: string, filter: DeliveryFilter, most = 100) {
  const { subscription = '', since, until, deleted } = filter;
  const query = deliveryQuery({ since, until, deleted });
  return api.list(listDeliveriesOfSubscription, { path: { queue, subscription }, query, most });
}

/** The filter among the options of a command, with the id of the subscription. */
export async function filterFrom(
  api: ApiClient,
  queue: string,
  { subscription: given, status, since, until, deleted }: DeliveryFilter,
): Promise<DeliveryFilter> {
  const subscription = given === undefined ? undefined : await resolveSubscription(api, queue, given);
  return { status, subscription, since, until, deleted };
}

const COLUMNS = [
  { head: 'Message' },
  { head: 'Subscription' },
  { head: 'Subscriber' },
  { head: 'Status' },
  { head: 'Attempts', align: 'right' as const },
  { head: 'Last response' },
  { head: 'Next attempt' },
];

function rowOf(delivery: ListedDelivery, labels: SubscriptionLabels, terminal: Terminal): string[] {
  const { messageId, subscriptionId, attemptCount, lastAttempt, nextAttemptAt, waiting } = delivery;
  return [
    printable(messageId),
    printable(shortId(subscriptionId)),
    printable(labels.of(subscriptionId)),
    colouredStatus(statusText(delivery), terminal),
    String(attemptCount),
    printable(String(lastAttempt?.statusCode ?? lastAttempt?.error ?? '')),
    whenText(nextAttemptAt, waiting),
  ];
}
