import { type Command, Option } from 'commander';
import { unsubscribeFor } from '../../../api-client/archives.ts';
import {
  disableSubscription,
  enableSubscription,
  getSubscription,
  listSubscriptions,
  rotatePullToken,
  rotateSecret,
  type Stopped,
} from '../../../api-client/operations.ts';
import { isForbidden, orElse } from '../../../api-client/refusal.ts';
import { shortId } from '../../../api-client/subscription-labels.ts';
import { sendTest } from '../../../api-client/test-subscription.ts';
import { waitingText } from '../../../api-client/waiting.ts';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { SIGNING_SCHEMES } from '../../../shared/domain/subscription/vocabulary.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApi, openSubscription } from '../../api/api-access.ts';
import {
  addSubscriptionAddress,
  jsonText,
  objectText,
  parseJsonText,
  parseQueue,
  wholeNumber,
  wholeSeconds,
} from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { readSecret } from '../../options/input.ts';
import { printList } from '../../output/list.ts';
import { printable, shownOnce } from '../../output/printable.ts';
import { clockTime, colouredStatus } from '../../output/words.ts';
import { NOW_OPTION, restorableText } from '../../output/restorable.ts';
import type { Terminal } from '../../terminal.ts';
import { describeDelivery } from '../deliveries/delivery-text.ts';
import {
  addSubscriptionCreate,
  describeSubscription,
  describeState,
  addSubscriptionUpdate,
} from './change.ts';
import { addSubscriptionPauses, describeName, enableText, requestsEndLines, resumeText } from './pause.ts';
import { addSubscriptionRestore } from '../restore/restore.ts';
import { addSubscriptionExport, addSubscriptionImport } from './transfer.ts';

export function addSubscriptionCommands(subscription: Command, terminal: Terminal): void {
  addSubscriptionList(subscription, terminal);
  addSubscriptionShow(subscription, terminal);
  addSubscriptionCreate(subscription, terminal);
  addSubscriptionUpdate(subscription, terminal);
  addSubscriptionSwitches(subscription, terminal);
  addSubscriptionPauses(subscription, terminal);
  addSubscriptionDelete(subscription, terminal);
  addSubscriptionRestore(subscription, terminal);
  addRotateSecret(subscription, terminal);
  addPullToken(subscription, terminal);
  addSubscriptionTest(subscription, terminal);
  addSubscriptionExport(subscription, terminal);
  addSubscriptionImport(subscription, terminal);
}

/** `posthaste subscription list` */
function addSubscriptionList(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('list')
    .description('List the subscriptions of a queue.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .option('--limit <N>', 'maximum number of subscriptions (default: all)', wholeNumber(1))
    .action(async (queue: string, { limit, ...options }: DeploymentOptions & { limit?: number }) => {
      const api = await openApi(options, terminal);
      await printList(terminal, api.list(listSubscriptions, { path: { queue }, most: limit }), {
        ...options,
        columns: COLUMNS,
        formatRow: (view) => formatRow(view, terminal),
        none: () =>
          `No subscription yet. Create one with ${commandText(`subscription create ${queue} <URL>`)}`,
      });
    });
  onDeployment(command, {
    json: 'one subscription per line, as in the API',
    examples: ['subscription list orders'],
  });
}

const COLUMNS = ['Subscription', 'Name', 'State', 'Subscriber'];

function formatRow(view: SubscriptionView, terminal: Terminal): string[] {
  const state = colouredStatus(describeState(view), terminal);
  return [printable(shortId(view.id)), printable(view.name ?? ''), state, printable(view.subscriber)];
}

/** `posthaste subscription show` */
function addSubscriptionShow(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('show'))
    .description('Show a subscription.')
    .action(async (queue: string, reference: string, options: DeploymentOptions) => {
      const api = await openApi(options, terminal);
      const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
      const view = await api.call(getSubscription, { path });
      // A caller that may see subscriptions need not see deliveries.
      const read =
        options.json === true
          ? undefined
          : waitingText(api, path, { paused: view.paused, formatTime: clockTime });
      const waiting = await read?.catch(orElse(isForbidden, undefined));
      terminal.printResult(options, view, () =>
        [describeSubscription(view, waiting), ...nextCommands(view)].join('\n'),
      );
    });
  onDeployment(command, {
    json: 'the subscription, as in the API',
    examples: ['subscription show orders 5b0c0f1e'],
  });
}

/** The commands that end what keeps requests back. */
function nextCommands(view: SubscriptionView): string[] {
  const { disabled, paused, backPressure } = view;
  const enable = enableText(view);
  return [
    ...(paused === undefined ? [] : [`To resume it: ${resumeText(view)}`]),
    ...(disabled === undefined ? [] : [`To enable it: ${enable}`]),
    ...(disabled !== undefined || backPressure === undefined ? [] : [`If it works again: ${enable}`]),
  ];
}

const DELETE_MORE = `
The command asks first; without a terminal to ask on, it requires --yes. The
deletion can be undone for some days (setting archiveDays, 7 by default): the
command prints until when and how. --now leaves nothing to restore.
`;

type DeleteOptions = DeploymentOptions & { yes?: true; now?: true };

/** `posthaste subscription delete` */
function addSubscriptionDelete(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('delete'))
    .description('Delete a subscription and cancel its open deliveries.')
    .option('--yes', 'delete the subscription without a question')
    .option(...NOW_OPTION)
    .action(async (queue: string, reference: string, { now, ...options }: DeleteOptions) => {
      const { api, path } = await openSubscription(queue, reference, options, terminal);
      const view = await api.call(getSubscription, { path });
      const { id } = view;
      const what = describeName(view);
      if (options.yes !== true) {
        const isConfirmed = await terminal.confirm(`Delete ${what}, and cancel its open deliveries?`);
        if (isConfirmed === undefined) return command.error(`error: to delete ${what}, add --yes`);
        if (!isConfirmed) throw new Problem('Nothing was deleted.');
      }
      const deletion = await unsubscribeFor(api, { path, query: { now } });
      const undo = `subscription restore ${queue} ${shortId(id)}`;
      terminal.printResult(
        options,
        { queue, subscriptionId: id, ...deletion },
        () => `Deleted ${what}. ${restorableText(deletion, undo)}`,
      );
    });
  onDeployment(command, {
    json: 'queue, subscriptionId, restorableUntil, requestsEndWithinSeconds',
    more: DELETE_MORE,
    examples: ['subscription delete orders 5b0c0f1e', 'subscription delete orders ACME --yes'],
  });
}

const DESCRIPTIONS = {
  enable:
    'Enable a disabled subscription: it receives new messages again. Ends the back-pressure of one that is slowed.',
  disable:
    'Disable a subscription: no requests are sent. New deliveries are cancelled, and open ones when their next attempt is due; both can be recovered. To stop for a while, pause it.',
};

function disabledText(view: SubscriptionView & Stopped): string {
  return [
    `Disabled ${describeName(view)}.`,
    ...requestsEndLines(view),
    'Until it is enabled, new deliveries are cancelled, and open ones when their next attempt is due. To enable it, and to see how to recover them:',
    enableText(view),
  ].join('\n');
}

/** `disabled`: why it was disabled until now, and since when. */
function enabledText(queue: string, view: SubscriptionView, disabled: SubscriptionView['disabled']): string {
  const which = `--subscription ${printable(shortId(view.id))} --by failure --since ${disabled?.at} --status cancelled`;
  const recover = commandText(`recover start ${queue} ${which}`);
  return [
    `Enabled ${describeName(view)}.`,
    ...(view.paused === undefined ? [] : [`It stays paused. To resume it: ${resumeText(view)}`]),
    ...(disabled === undefined ? [] : [`To recover what was cancelled while it was disabled: ${recover}`]),
  ].join('\n');
}

/** `posthaste subscription enable` and `disable` */
function addSubscriptionSwitches(subscription: Command, terminal: Terminal): void {
  for (const to of ['enable', 'disable'] as const) {
    const command = addSubscriptionAddress(subscription.command(to))
      .description(DESCRIPTIONS[to])
      .action(async (queue: string, reference: string, options: DeploymentOptions) => {
        const { api, path } = await openSubscription(queue, reference, options, terminal);
        if (to === 'disable') {
          const view = await api.call(disableSubscription, { path });
          terminal.printResult(options, view, () => disabledText(view));
        } else {
          const read = api.call(getSubscription, { path });
          const before = await read.catch(orElse(isForbidden, undefined));
          const view = await api.call(enableSubscription, { path });
          terminal.printResult(options, view, () => enabledText(queue, view, before?.disabled));
        }
      });
    onDeployment(command, {
      json: 'the subscription after the change',
      examples: [`subscription ${to} orders 5b0c0f1e`],
    });
  }
}

const TEST_MORE = `
Exit status: 0 if the first attempt delivered the message, otherwise 1.
`;

/** `posthaste subscription test` */
function addSubscriptionTest(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('test'))
    .description('Send a test message to one subscription, and show the result.')
    .option('--type <TYPE>', 'type of the message')
    .option('--data <JSON>', 'data of the message', parseJsonText)
    .action(
      async (
        queue: string,
        reference: string,
        { type, data, ...options }: DeploymentOptions & { type?: string; data?: string },
      ) => {
        const body = objectText([
          ['type', jsonText(type)],
          ['data', data],
        ]);
        const { api, path } = await openSubscription(queue, reference, options, terminal);
        const delivery = await sendTest(api, path, body);
        terminal.printResult(options, delivery, () => describeDelivery(delivery, terminal));
        if (delivery.status !== 'delivered') terminal.exitStatus = 1;
      },
    );
  onDeployment(command, {
    json: 'the delivery',
    more: TEST_MORE,
    examples: [`subscription test orders 5b0c0f1e --data '{"order": 1}'`],
  });
}

type RotateOptions = DeploymentOptions & { type?: string; secretFile?: string; grace?: number };

const ROTATE_MORE = `
Until the old secret expires, requests are signed with both. For v1a, only the
public key is printed. --secret-file takes a file because other users of this
machine could see a secret in the arguments.
`;

/** `posthaste subscription rotate-secret` */
function addRotateSecret(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('rotate-secret'))
    .description('Replace the signing secret of a subscription. The new secret or public key is shown once.')
    .addOption(
      new Option('--type <TYPE>', 'v1: shared secret (HMAC, the default); v1a: key pair (Ed25519)').choices(
        SIGNING_SCHEMES,
      ),
    )
    .option('--secret-file <FILE>', 'use the secret in this file instead of a random one; - for stdin')
    .option(
      '--grace <DURATION>',
      'how long the old secret stays valid: seconds, or 30m, 1h, 2d (default: 1d)',
      wholeSeconds(0),
    )
    .action(
      async (queue: string, reference: string, { type, secretFile, grace, ...options }: RotateOptions) => {
        const { api, path } = await openSubscription(queue, reference, options, terminal);
        const secret = secretFile === undefined ? undefined : await readSecret(secretFile, terminal);
        const body = JSON.stringify({ type, secret, graceSeconds: grace });
        const rotated = await api.call(rotateSecret, { path, body });
        const { secret: made, publicKey, previousExpiresAt } = rotated;
        terminal.printResult(options, rotated, () =>
          [
            ...(made === undefined ? [] : [shownOnce('New signing secret', made)]),
            ...(publicKey === undefined ? [] : [shownOnce('New public key', publicKey)]),
            ...validText('old secret', previousExpiresAt, grace),
          ].join('\n'),
        );
      },
    );
  onDeployment(command, {
    json: 'secret or publicKey, previousExpiresAt',
    more: ROTATE_MORE,
    examples: ['subscription rotate-secret orders 5b0c0f1e --grace 30m'],
  });
}

/** Until when what was replaced stays valid, if there was one. */
function validText(what: string, until: string | null | undefined, grace: number | undefined): string[] {
  if (typeof until !== 'string') return [];
  return [grace === 0 ? `The ${what} ended at once.` : `The ${what} stays valid until ${clockTime(until)}.`];
}

/** `posthaste subscription pull-token` */
function addPullToken(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('pull-token'))
    .description('Give a pull subscription a token, by which its subscriber receives. It is shown once.')
    .option(
      '--grace <DURATION>',
      'how long the previous token stays valid: seconds, or 30m, 1h, 2d (default: 1d)',
      wholeSeconds(0),
    )
    .action(
      async (
        queue: string,
        reference: string,
        { grace, ...options }: DeploymentOptions & { grace?: number },
      ) => {
        const { api, path } = await openSubscription(queue, reference, options, terminal);
        const body = grace === undefined ? {} : { graceSeconds: grace };
        const made = await api.call(rotatePullToken, { path, body });
        terminal.printResult(options, made, () =>
          [
            shownOnce('Token', made.token),
            ...validText('previous token', made.previousExpiresAt, grace),
          ].join('\n'),
        );
      },
    );
  onDeployment(command, {
    json: 'token, previousExpiresAt',
    examples: ['subscription pull-token orders pull:warehouse'],
  });
}
