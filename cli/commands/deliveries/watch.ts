import type { Command } from 'commander';
import type { DeliveryFilter } from '../../../api-client/deliveries.ts';
import { shortId } from '../../../api-client/subscription-labels.ts';
import { openApi } from '../../api/open-api.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { onDeployment, VERBOSE, type DeploymentOptions } from '../../options/deployment-options.ts';
import { durationOf } from '../../options/time.ts';
import { clockTime } from '../../output/time-text.ts';
import { colouredStatus } from '../../output/status-colour.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { addDeliveryFilter } from './delivery-options.ts';
import { statusText } from './delivery-text.ts';
import { filterFrom } from './list.ts';
import { watchDeliveries, type Change } from './watch-deliveries.ts';

type Options = DeploymentOptions & DeliveryFilter & { message?: string; for?: number; verbose?: true };

const MORE = `
Prints the current deliveries, then each change. It polls every second while
there are changes, and up to every 10 s otherwise. For a queue it watches the
100 newest open or failed deliveries, and open ones it has seen until they end.
With --message it watches all deliveries of one message, and stops when they
have ended.

Exit status: 0, also after Ctrl-C.
`;

/** `posthaste deliveries watch` */
export function addDeliveriesWatch(deliveries: Command, terminal: Terminal): void {
  const command = deliveries
    .command('watch')
    .description('Print deliveries as they change.')
    .argument('<queue>', 'name of the queue', queueOf)
    .option('--message <ID>', 'only deliveries of this message', idOf)
    .option('--verbose', VERBOSE)
    .option('--for <DURATION>', 'stop after this long: seconds, or 30m, 1h', durationOf)
    .action(async (queue: string, options: Options) => {
      const api = await openApi(options, terminal);
      const { message } = options;
      const filter = await filterFrom(api, queue, options);
      await terminal.untilInterrupted((interrupted) =>
        watchDeliveries(api, {
          queue,
          message,
          filter,
          signal: endOf(options, interrupted),
          terminal,
          verbose: options.verbose === true,
          onChange: (change) => {
            if (options.json === true) terminal.printJson(change);
            else terminal.print(changeText(change, terminal));
          },
        }),
      );
    });
  onDeployment(addDeliveryFilter(command), {
    json: 'one change per line: at, queue, messageId, subscriptionId, status, reason, attemptCount, last, nextAttemptAt',
    more: MORE,
    examples: ['deliveries watch orders --for 10m', 'deliveries watch orders --message order-17'],
  });
}

function endOf(options: Options, interrupted: AbortSignal): AbortSignal {
  return options.for === undefined
    ? interrupted
    : AbortSignal.any([interrupted, AbortSignal.timeout(options.for * 1000)]);
}

function changeText(change: Change, terminal: Terminal): string {
  const { at, messageId, subscriptionId, attemptCount, last, nextAttemptAt } = change;
  const next = nextAttemptAt === undefined ? '' : `, next ${clockTime(nextAttemptAt)}`;
  const answer = last === undefined ? '' : `, ${printable(last)}`;
  return (
    `${clockTime(at)}  ${printable(messageId)}  ${printable(shortId(subscriptionId))}  ` +
    `${colouredStatus(statusText(change), terminal)}  #${attemptCount}${answer}${next}`
  );
}
