import type { Command } from 'commander';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { listArchivedSubscriptions, restoreSubscription } from '../../../api-client/operations.ts';
import { isWholeId, shortId } from '../../../api-client/subscription-labels.ts';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { isMeant } from '../../api/find-subscription.ts';
import { openApi, openApiToWrite } from '../../api/api-access.ts';
import { parseQueue } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import { describeName } from './pause.ts';

const MORE = `
Without a subscription, the command lists the deleted ones of the queue that
can be restored, and until when (setting archiveDays). A restored subscription
has its id, secrets and tokens again. What the deletion cancelled is not sent by
itself: recover start sends it.
`;

/** `posthaste subscription restore` */
export function addSubscriptionRestore(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('restore')
    .description('Restore a deleted subscription, or list what can be restored.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .argument('[subscription]', 'id of the deleted subscription, or its first characters, its name or URL')
    .action(async (queue: string, reference: string | undefined, options: DeploymentOptions) => {
      if (reference === undefined) await listRestorable(queue, options, terminal);
      else await restore(queue, reference, options, terminal);
    });
  onDeployment(command, {
    json: 'the subscription; in a list one per line: id, name, subscriber, deletedAt, restorableUntil',
    more: MORE,
    examples: ['subscription restore orders', 'subscription restore orders 5b0c0f1e'],
  });
}

async function listRestorable(queue: string, options: DeploymentOptions, terminal: Terminal): Promise<void> {
  const api = await openApi(options, terminal);
  await printList(terminal, api.list(listArchivedSubscriptions, { path: { queue } }), {
    ...options,
    columns: ['Subscription', 'Name', 'Deleted at', 'Restorable until', 'Subscriber'],
    formatRow: ({ id, name = '', deletedAt, restorableUntil, subscriber }) => [
      printable(shortId(id)),
      printable(name),
      clockTime(deletedAt),
      clockTime(restorableUntil),
      printable(subscriber),
    ],
    none: () => `No deleted subscription of queue ${queue} can be restored.`,
  });
}

async function restore(
  queue: string,
  reference: string,
  options: DeploymentOptions,
  terminal: Terminal,
): Promise<void> {
  const api = await openApiToWrite(options, terminal);
  const subscription = await resolveArchived(api, queue, reference);
  const view = await api.call(restoreSubscription, { path: { queue, subscription } });
  const recover = commandText(`recover start ${queue} --subscription ${shortId(view.id)} --since 7d`);
  terminal.printResult(
    options,
    view,
    () => `Restored ${describeName(view)}.\nTo send what the deletion cancelled: ${recover}`,
  );
}

/** The id of the deleted subscription that a user means. @throws Problem if none or several fit */
async function resolveArchived(api: ApiClient, queue: string, reference: string): Promise<string> {
  if (isWholeId(reference)) return reference;
  const { items } = await api.items(listArchivedSubscriptions, { path: { queue } });
  const [first, second] = items.filter((one) => one.subscriber === reference || isMeant(one, reference));
  const list = commandText(`subscription restore ${queue}`);
  if (first === undefined)
    throw new Problem(`No deleted subscription ${reference} can be restored. To see all, run ${list}`);
  if (second !== undefined)
    throw new Problem(`${reference} fits several deleted subscriptions. Give the id: ${list}`);
  return first.id;
}
