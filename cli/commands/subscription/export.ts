import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { exportSubscriptions } from '../../api/subscriptions.ts';
import { queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printableJson } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { withCredentials?: boolean };

/** `posthaste subscription export` */
export function addSubscriptionExport(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('export')
    .description('Print the subscriptions of a queue as JSON lines, without their secrets.')
    .argument('<queue>', 'name of the queue', queueOf)
    .option(
      '--with-credentials',
      'include the credentials in headers and auth; without this option they are ***',
    )
    .action(async (queue: string, { withCredentials = false, ...options }: Options) => {
      for await (const lines of exportSubscriptions(
        await openApi(options, terminal),
        queue,
        withCredentials,
      )) {
        if (terminal.readerLeft.aborted) return;
        terminal.stdout.write(printableJson(lines));
      }
    });
  onDeployment(command, { examples: ['subscription export orders > orders.jsonl'] });
}
