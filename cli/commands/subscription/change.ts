import type { Command } from 'commander';
import { getSubscription, subscribe, updateSubscription } from '../../../api-client/operations.ts';
import { type BackPressure, counted, pressureState } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { newQueueNotice, resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { addSubscriptionAddress, objectText, queueOf, textOf } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { fieldLines } from '../../output/list.ts';
import { printable, printableJson, shownOnce } from '../../output/printable.ts';
import { clockTime, inWords } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import {
  addCallOptions,
  type CallOptions,
  isAnyGiven,
  optionsText,
  ttlOf,
  withAuth,
} from './call-options.ts';

/** The state of a subscription in few words. */
export function stateOf({
  disabled,
  failing,
  confirmed,
  confirmation,
  backPressure,
}: SubscriptionView): string {
  if (disabled !== undefined) return `disabled (${printable(disabled.reason)})`;
  if (!confirmed) return confirmation === 'owed' ? 'unconfirmed (request not sent)' : 'unconfirmed';
  if (backPressure !== undefined) return pressureState(backPressure);
  return failing === undefined ? 'enabled' : 'failing';
}

/** The same, and under back-pressure what it means. */
function stateText(view: SubscriptionView): string {
  const { disabled, confirmed, backPressure } = view;
  return disabled !== undefined || !confirmed || backPressure === undefined
    ? stateOf(view)
    : pressureText(backPressure);
}

function pressureText({ reason, since, perSecond }: BackPressure): string {
  const pace = perSecond === undefined ? 'one request at a time' : `at most ${perSecond} requests a second`;
  const cause =
    reason === 'receiver_throttled' ? ' since a refusal at' : ', the subscriber is or was down since';
  return `enabled, ${pace}${cause} ${clockTime(since)}`;
}

/** A subscription as text, one field per line. `waiting`: how many deliveries wait and why. */
export function describeSubscription(view: SubscriptionView, waiting?: string): string {
  const { id, source, name, subscriber, ttl, age, disabled, failing, certificateExpiresAt } = view;
  const { auth, ...options } = view.options;
  return fieldLines([
    ['Subscription', printable(id)],
    ['Queue', printable(source)],
    ['Name', name && printable(name)],
    ['Subscriber', printable(subscriber)],
    ['State', stateText(view)],
    ['Disabled at', disabled && clockTime(disabled.at)],
    [
      'Failing since',
      failing &&
        `${clockTime(failing.since)}, ${counted(failing.failures, 'counted failure', 'counted failures')}`,
    ],
    ['Waiting', waiting],
    ['Age', inWords(age)],
    ['Expires', ttl === null ? 'never' : `${inWords(ttl)} after creation, or after its ttl was last changed`],
    ['Authentication', auth && authText(auth)],
    ['Certificate expires', certificateExpiresAt && clockTime(certificateExpiresAt)],
    ['Options', printableJson(JSON.stringify(options))],
  ]).join('\n');
}

/** Without certificates, which are long; `--json` shows them. */
function authText({ type, ...fields }: NonNullable<SubscriptionView['options']['auth']>): string {
  const short = Object.entries(fields).filter(
    ([, value]) => typeof value === 'string' && !value.includes('-----'),
  );
  return printable([type, ...short.map(([name, value]) => `${name}: ${String(value)}`)].join(', '));
}

type Options = DeploymentOptions & CallOptions & { name?: string; ttl?: number };

/** `posthaste subscription create` */
export function addSubscriptionCreate(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('create')
    .description('Subscribe a URL to a queue, and print the signing secret once. Creates a missing queue.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<URL>', 'http or https URL of the subscriber; pull: or pull:NAME if it fetches its messages')
    .option('--name <NAME>', 'a name for people, such as that of the customer')
    .option(
      '--ttl <DURATION>',
      'the subscription expires after this long: seconds, or 30m, 1h, 2d (default: never)',
      ttlOf,
    )
    .action(async (queue: string, subscriber: string, { name, ttl, ...options }: Options) => {
      const body = objectText([
        ['subscriber', textOf(subscriber)],
        ['name', textOf(name)],
        ['ttl', textOf(ttl)],
        ['options', optionsText(await withAuth(options, terminal))],
      ]);
      const api = await openApiToWrite(options, terminal);
      const sayIfNew = await newQueueNotice(api, queue, terminal);
      const created = await api.call(subscribe, { path: { queue }, body });
      sayIfNew();
      if (options.json === true) {
        terminal.printJson(created);
        return;
      }
      terminal.print(`Created subscription ${printable(created.subscription_id)}.`);
      if (created.secret !== undefined) terminal.print(shownOnce('Signing secret', created.secret));
      if (created.confirmation === 'owed')
        terminal.print(
          `The confirmation request could not be sent. To send it again, run ${commandText('subscription update')} with the same --url.`,
        );
    });
  onDeployment(addCallOptions(command), {
    json: 'subscription_id, secret, confirmation',
    examples: [
      'subscription create orders https://example.com/hook --name "ACME, production"',
      'subscription create orders https://example.com/hook',
      'subscription create orders pull:warehouse',
      'subscription create orders https://example.com/hook --auth-file auth.json',
      `subscription create orders https://example.com/hook --event-type order.created --policy '{"maximum_delay": 60}'`,
    ],
  });
}

type UpdateOptions = DeploymentOptions &
  CallOptions & { name?: string; url?: string; keepSecret?: true; ttl?: number };

const MORE = `
Only the given settings change; --options replaces all options.

If --url moves the subscription to another host, headers that carry credentials
and auth are removed: give them again. Requests are then signed with a new secret, which
is printed once, unless --keep-secret is given.
`;

/** `posthaste subscription update` */
export function addSubscriptionUpdate(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('update'))
    .description('Change a subscription.')
    .option('--name <NAME>', 'new name; "" removes the name')
    .option('--url <URL>', 'new URL of the subscriber')
    .option('--keep-secret', 'keep the signing secret, even if --url is on another host')
    .option(
      '--ttl <DURATION>',
      'the subscription expires this long after the change: seconds, or 30m, 1h, 2d',
      ttlOf,
    )
    .action(async (queue: string, reference: string, given: UpdateOptions) => {
      const options = await withAuth(given, terminal);
      const { json, name, url, keepSecret, ttl } = options;
      const isGiven = [name, url, ttl, options.options].some((value) => value !== undefined);
      if (!isGiven && !isAnyGiven(options)) {
        command.error('error: there is nothing to change; add one of the options');
      }
      const api = await openApiToWrite(options, terminal);
      const id = await resolveSubscription(api, queue, reference);
      const before = (): Promise<SubscriptionView> =>
        api.call(getSubscription, { path: { queue, subscription: id } });
      const body = objectText([
        ['name', name === '' ? 'null' : textOf(name)],
        ['subscriber', textOf(url)],
        ['ttl', textOf(ttl)],
        ['options', await changedOptions(options, before)],
        ['secret', keepSecret && textOf('keep')],
      ]);
      const view = await api.call(updateSubscription, { path: { queue, subscription: id }, body });
      if (json === true) terminal.printJson(view);
      else {
        terminal.print(describeSubscription(view));
        if (view.secret !== undefined) terminal.print(shownOnce('New signing secret', view.secret));
      }
    });
  onDeployment(addCallOptions(command), {
    json: 'the subscription after the change',
    more: MORE,
    examples: [
      `subscription update orders 5b0c0f1e --policy '{"maximum_delay": 60}'`,
      'subscription update orders 5b0c0f1e --url https://example.com/other',
    ],
  });
}

/** The API replaces all options, so this reads the current ones and adds the changes. */
async function changedOptions(
  given: CallOptions,
  before: () => Promise<SubscriptionView>,
): Promise<string | undefined> {
  if (given.options !== undefined) return optionsText(given);
  if (!isAnyGiven(given)) return undefined;
  return optionsText(given, JSON.stringify((await before()).options));
}
