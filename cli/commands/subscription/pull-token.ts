import type { Command } from 'commander';
import { rotatePullToken } from '../../../api-client/operations.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { queueOf, SUBSCRIPTION, subscriptionOf, wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/time-text.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { grace?: number };

/** `posthaste subscription pull-token` */
export function addPullToken(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('pull-token')
    .description('Give a pull subscription a token, by which its subscriber receives. It is shown once.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<subscription>', SUBSCRIPTION, subscriptionOf)
    .option(
      '--grace <SECONDS>',
      'seconds for which the previous token stays valid (default: 86400)',
      wholeNumberOf(0),
    )
    .action(async (queue: string, reference: string, { grace, ...options }: Options) => {
      const api = await openApiToWrite(options, terminal);
      const id = await resolveSubscription(api, queue, reference);
      const made = await api.call(rotatePullToken, {
        path: { queue, subscription: id },
        body: grace === undefined ? {} : { graceSeconds: grace },
      });
      if (options.json === true) {
        terminal.printJson(made);
        return;
      }
      terminal.print(`Token (save it now, it is not shown again): ${printable(made.token)}`);
      if (typeof made.previousExpiresAt === 'string')
        terminal.print(`The previous token stays valid until ${clockTime(made.previousExpiresAt)}.`);
    });
  onDeployment(command, {
    json: 'token, previousExpiresAt',
    examples: ['subscription pull-token orders pull:warehouse'],
  });
}
