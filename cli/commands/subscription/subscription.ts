import type { Option } from 'commander';
import { deletionBy } from '../../../api-client/archives.ts';
import {
  disableSubscription,
  enableSubscription,
  getSubscription,
  listSubscriptions,
  rotatePullToken,
  rotateSecret,
  type Stopped,
  unsubscribe,
} from '../../../api-client/operations.ts';
import { isForbidden, orElse } from '../../../api-client/refusal.ts';
import { shortId } from '../../../api-client/subscription-labels.ts';
import { sendTest } from '../../../api-client/test-subscription.ts';
import { waitingText } from '../../../api-client/waiting.ts';
import { commandText } from '../../../local/command-name.ts';
import { SIGNING_SCHEMES } from '../../../shared/domain/subscription/vocabulary.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import {
  jsonText,
  NOW,
  objectText,
  option,
  parseJsonText,
  QUEUE,
  SUBSCRIPTION_ADDRESS,
  wholeNumber,
  wholeSeconds,
} from '../../options/arguments.ts';
import { deployed, group, requireYes } from '../../options/deployed.ts';
import { readSecret } from '../../options/input.ts';
import { printList } from '../../output/list.ts';
import { clockTime, colouredStatus, printable, restorableText, shownOnce } from '../../output/text.ts';
import type { Terminal } from '../../terminal.ts';
import { describeDelivery } from '../deliveries/delivery-text.ts';
import { describeSubscription, describeState, subscriptionCreate, subscriptionUpdate } from './change.ts';
import { describeName, enableText, requestsEndLines, resumeText, subscriptionPauses } from './pause.ts';
import { subscriptionRestore } from '../restore/restore.ts';
import { subscriptionExport, subscriptionImport } from './transfer.ts';

const list = deployed<{ limit?: number }>({
  description: 'List the subscriptions of a queue.',
  arguments: [QUEUE],
  options: [option('--limit <N>', 'maximum number of subscriptions (default: all)', wholeNumber(1))],
  json: 'one subscription per line, as in the API',
  examples: ['subscription list orders'],
  read: async ({ api, options: { limit, ...options }, terminal }, queue) => {
    await printList(terminal, api.list(listSubscriptions, { path: { queue }, most: limit }), {
      ...options,
      columns: COLUMNS,
      formatRow: (view) => formatRow(view, terminal),
      none: () => `No subscription yet. Create one with ${commandText(`subscription create ${queue} <URL>`)}`,
    });
  },
});

const COLUMNS = ['Subscription', 'Name', 'State', 'Subscriber'];

function formatRow(view: SubscriptionView, terminal: Terminal): string[] {
  const state = colouredStatus(describeState(view), terminal);
  return [printable(shortId(view.id)), printable(view.name ?? ''), state, printable(view.subscriber)];
}

const show = deployed({
  description: 'Show a subscription.',
  arguments: SUBSCRIPTION_ADDRESS,
  json: 'the subscription, as in the API',
  examples: ['subscription show orders 5b0c0f1e'],
  read: async ({ api, options }, queue, reference) => {
    const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
    const view = await api.call(getSubscription, { path });
    // A caller that may see subscriptions need not see deliveries.
    const read =
      options.json === true
        ? undefined
        : waitingText(api, path, { paused: view.paused, formatTime: clockTime });
    const waiting = await read?.catch(orElse(isForbidden, undefined));
    return [view, () => [describeSubscription(view, waiting), ...nextCommands(view)].join('\n')];
  },
});

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

const remove = deployed<{ yes?: true; now?: true }>({
  description: 'Delete a subscription and cancel its open deliveries.',
  arguments: SUBSCRIPTION_ADDRESS,
  options: [option('--yes', 'delete the subscription without a question'), NOW],
  json: 'queue, subscriptionId, restorableUntil, requestsEndWithinSeconds',
  more: `
The command asks first; without a terminal to ask on, it requires --yes. The
deletion can be undone for some days (setting archiveDays, 7 by default): the
command prints until when and how. --now leaves nothing to restore.
`,
  examples: ['subscription delete orders 5b0c0f1e', 'subscription delete orders ACME --yes'],
  write: async ({ api, ...given }, queue, reference) => {
    const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
    const view = await api.call(getSubscription, { path });
    const what = describeName(view);
    const question = `Delete ${what}, and cancel its open deliveries?`;
    await requireYes(given, { question, to: `delete ${what}`, ifNot: 'Nothing was deleted.' });
    const deletion = await deletionBy(api, unsubscribe, { path, query: { now: given.options.now } });
    const undo = `subscription restore ${queue} ${shortId(view.id)}`;
    return [
      { queue, subscriptionId: view.id, ...deletion },
      () => `Deleted ${what}. ${restorableText(deletion, undo)}`,
    ];
  },
});

const disable = deployed({
  description:
    'Disable a subscription: no requests are sent. New deliveries are cancelled, and open ones when their next attempt is due; both can be recovered. To stop for a while, pause it.',
  arguments: SUBSCRIPTION_ADDRESS,
  json: 'the subscription after the change',
  examples: ['subscription disable orders 5b0c0f1e'],
  write: async ({ api }, queue, reference) => {
    const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
    const view = await api.call(disableSubscription, { path });
    return [view, () => disabledText(view)];
  },
});

function disabledText(view: SubscriptionView & Stopped): string {
  return [
    `Disabled ${describeName(view)}.`,
    ...requestsEndLines(view),
    'Until it is enabled, new deliveries are cancelled, and open ones when their next attempt is due. To enable it, and to see how to recover them:',
    enableText(view),
  ].join('\n');
}

const enable = deployed({
  description:
    'Enable a disabled subscription: it receives new messages again. Ends the back-pressure of one that is slowed.',
  arguments: SUBSCRIPTION_ADDRESS,
  json: 'the subscription after the change',
  examples: ['subscription enable orders 5b0c0f1e'],
  write: async ({ api }, queue, reference) => {
    const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
    const before = await api.call(getSubscription, { path }).catch(orElse(isForbidden, undefined));
    const view = await api.call(enableSubscription, { path });
    return [view, () => enabledText(queue, view, before?.disabled)];
  },
});

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

const test = deployed<{ type?: string; data?: string }>({
  description: 'Send a test message to one subscription, and show the result.',
  arguments: SUBSCRIPTION_ADDRESS,
  options: [
    option('--type <TYPE>', 'type of the message'),
    option('--data <JSON>', 'data of the message', parseJsonText),
  ],
  json: 'the delivery',
  more: `
Exit status: 0 if the first attempt delivered the message, otherwise 1.
`,
  examples: [`subscription test orders 5b0c0f1e --data '{"order": 1}'`],
  write: async ({ api, options: { type, data }, terminal }, queue, reference) => {
    const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
    const delivery = await sendTest(api, path, objectText({ type: jsonText(type), data }));
    if (delivery.status !== 'delivered') terminal.exitStatus = 1;
    return [delivery, () => describeDelivery(delivery, terminal)];
  },
});

const rotateSubscriptionSecret = deployed<{ type?: string; secretFile?: string; grace?: number }>({
  description: 'Replace the signing secret of a subscription. A new shared secret is shown once.',
  arguments: SUBSCRIPTION_ADDRESS,
  options: [
    option('--type <TYPE>', 'v1: shared secret (HMAC, the default); v1a: key pair (Ed25519)').choices(
      SIGNING_SCHEMES,
    ),
    option('--secret-file <FILE>', 'use the secret in this file instead of a random one; - for stdin'),
    graceOption('old secret'),
  ],
  json: 'secret or publicKey, previousExpiresAt',
  more: `
Until the old secret expires, requests are signed with both. For v1a, only the
public key is printed. --secret-file takes a file because other users of this
machine could see a secret in the arguments.
`,
  examples: ['subscription rotate-secret orders 5b0c0f1e --grace 30m'],
  write: async ({ api, options: { type, secretFile, grace }, terminal }, queue, reference) => {
    const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
    const secret = secretFile === undefined ? undefined : await readSecret(secretFile, terminal);
    const body = JSON.stringify({ type, secret, graceSeconds: grace });
    const rotated = await api.call(rotateSecret, { path, body });
    const { secret: made, publicKey, previousExpiresAt } = rotated;
    const lines = [
      ...(made === undefined ? [] : [shownOnce('New signing secret', made)]),
      ...(publicKey === undefined ? [] : [`New public key: ${printable(publicKey)}`]),
      ...validText('old secret', previousExpiresAt, grace),
    ];
    return [rotated, () => lines.join('\n')];
  },
});

function graceOption(what: string): Option {
  const meaning = `how long the ${what} stays valid: seconds, or 30m, 1h, 2d (default: 1d)`;
  return option('--grace <DURATION>', meaning, wholeSeconds(0));
}

/** Until when what was replaced stays valid, if there was one. */
function validText(what: string, until: string | null | undefined, grace: number | undefined): string[] {
  if (typeof until !== 'string') return [];
  return [grace === 0 ? `The ${what} ended at once.` : `The ${what} stays valid until ${clockTime(until)}.`];
}

const pullToken = deployed<{ grace?: number }>({
  description: 'Give a pull subscription a token, by which its subscriber receives. It is shown once.',
  arguments: SUBSCRIPTION_ADDRESS,
  options: [graceOption('previous token')],
  json: 'token, previousExpiresAt',
  examples: ['subscription pull-token orders pull:warehouse'],
  write: async ({ api, options: { grace } }, queue, reference) => {
    const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
    const made = await api.call(rotatePullToken, { path, body: { graceSeconds: grace } });
    const lines = [
      shownOnce('Token', made.token),
      ...validText('previous token', made.previousExpiresAt, grace),
    ];
    return [made, () => lines.join('\n')];
  },
});

export const subscriptionCommands = group({
  list,
  show,
  create: subscriptionCreate,
  update: subscriptionUpdate,
  enable,
  disable,
  ...subscriptionPauses,
  delete: remove,
  restore: subscriptionRestore,
  'rotate-secret': rotateSubscriptionSecret,
  'pull-token': pullToken,
  test,
  export: subscriptionExport,
  import: subscriptionImport,
});
