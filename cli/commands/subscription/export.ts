import type { Command } from 'commander';
import { markerIn, requestOf } from '../../../api-client/api-client.ts';
import { exportCredentials, exportSubscriptions } from '../../../api-client/operations.ts';
import { openApi } from '../../api/open-api.ts';
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
      const api = await openApi(options, terminal);
      let marker: string | undefined;
      do {
        const given = { path: { queue }, query: { marker } };
        const { text, headers } = await api.send(
          withCredentials ? requestOf(exportCredentials, given) : requestOf(exportSubscriptions, given),
        );
        if (terminal.readerLeft.aborted) return;
        terminal.stdout.write(printableJson(text));
        marker = nextMarker(headers.get('link') ?? '');
      } while (marker !== undefined);
    });
  onDeployment(command, { examples: ['subscription export orders > orders.jsonl'] });
}

/** The marker in a Link header of the form `<href>; rel="next"` (RFC 8288). */
function nextMarker(link: string): string | undefined {
  const href = /<([^>]*)>;\s*rel="next"/.exec(link)?.[1];
  return href === undefined ? undefined : markerIn([{ rel: 'next', href }]);
}
