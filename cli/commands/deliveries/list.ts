import { Option, type Command } from 'commander';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';
import { openApi } from '../../api/api-client.ts';
import {
  deliveriesOfMessage,
  listDeliveries,
  type DeliveryFilter,
  type ListedDelivery,
} from '../../api/deliveries.ts';
import { idOf, queueOf, wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { clockTime } from '../../output/time-text.ts';
import { printList } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { addDeliveryFilter } from './delivery-options.ts';
import { statusText } from './delivery-text.ts';

type Options = DeploymentOptions & DeliveryFilter & { message?: string; limit?: number };

const MORE = `
Of a queue those that are not delivered, newest first; with --message all of one message.
`;

/** `posthaste deliveries list` */
export function addDeliveriesList(deliveries: Command, terminal: Terminal): void {
  const command = deliveries
    .command('list')
    .description('List deliveries.')
    .argument('<queue>', 'its name', queueOf)
    .addOption(
      new Option('--message <ID>', 'of this message, the delivered ones too')
        .argParser(idOf)
        .conflicts(['status', 'subscription', 'since', 'until']),
    )
    .option('--deleted', 'of a queue that was deleted')
    .option('--limit <N>', 'at most so many (default: 100 of a queue, all of a message)', wholeNumberOf(1))
    .action(async (queue: string, { message, limit, json, ...options }: Options) => {
      const api = await openApi(options, terminal);
      const form = { ...(json && { json }), columns: COLUMNS, none: 'No deliveries.' };
      if (message !== undefined) {
        const most = limit === undefined ? {} : { most: limit };
        const found = deliveriesOfMessage(api, { queue, messageId: message }, most);
        await printList(terminal, found, { ...form, rowOf: rowOfView });
        return;
      }
      const { status, subscription, since, until, deleted } = options;
      const filter = definedOf({ status, subscription, since, until, deleted });
      await printList(terminal, listDeliveries(api, queue, filter, { most: limit ?? 100 }), {
        ...form,
        rowOf,
      });
    });
  onDeployment(addDeliveryFilter(command), {
    json: 'one delivery a line, as the API shows it',
    more: MORE,
    examples: [
      'deliveries list orders --status exhausted --since 2h',
      'deliveries list orders --message order-17',
    ],
  });
}

/** Without what was not given. */
export function definedOf({
  status,
  subscription,
  since,
  until,
  deleted,
}: { [Name in keyof DeliveryFilter]: DeliveryFilter[Name] | undefined }): DeliveryFilter {
  return {
    ...(status !== undefined && { status }),
    ...(subscription !== undefined && { subscription }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(deleted !== undefined && { deleted }),
  };
}

const COLUMNS = [
  { head: 'Message' },
  { head: 'Subscription' },
  { head: 'Status' },
  { head: 'Attempts', align: 'right' as const },
  { head: 'Last' },
  { head: 'Next' },
];

function rowOf(delivery: ListedDelivery): string[] {
  const { messageId, subscriptionId, attemptCount, lastAttempt, nextAttemptAt } = delivery;
  return [
    printable(messageId),
    printable(subscriptionId),
    statusText(delivery),
    String(attemptCount),
    printable(String(lastAttempt?.statusCode ?? lastAttempt?.error ?? '')),
    clockTime(nextAttemptAt),
  ];
}

function rowOfView({ attempts, ...view }: DeliveryView): string[] {
  const lastAttempt = attempts.at(-1);
  return rowOf({
    ...view,
    acceptedAt: '',
    attemptCount: attempts.length,
    ...(lastAttempt && { lastAttempt }),
  });
}
