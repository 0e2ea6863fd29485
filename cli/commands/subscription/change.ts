import { InvalidArgumentError } from 'commander';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { getSubscription, subscribe, updateSubscription } from '../../../api-client/operations.ts';
import { isForbidden, orElse } from '../../../api-client/refusal.ts';
import { shortId } from '../../../api-client/subscription-labels.ts';
import { counted, pressureState } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { isJsonObject, jsonOrUndefined } from '../../../shared/domain/json.ts';
import { REDACTED } from '../../../shared/domain/subscription/credential-headers.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { newQueueNotice, resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/api-access.ts';
import {
  argument,
  collect,
  jsonText,
  objectText,
  option,
  parseJsonObjectText,
  parseRate,
  QUEUE,
  SUBSCRIPTION_ADDRESS,
  wholeNumber,
  wholeSeconds,
  withMembers,
} from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import { parsePolicy, readInput } from '../../options/input.ts';
import { fieldLines } from '../../output/list.ts';
import { clockTime, inWords, printable, printableJson, shownOnce } from '../../output/text.ts';
import type { Terminal } from '../../terminal.ts';
import { describePauseTimes } from './pause.ts';

/** The state of a subscription in few words. */
export function describeState(view: SubscriptionView): string {
  const { disabled, failing, confirmed, confirmation, paused, backPressure } = view;
  if (disabled !== undefined) return `disabled (${printable(disabled.reason)})`;
  if (!confirmed) return confirmation === 'owed' ? 'unconfirmed (request not sent)' : 'unconfirmed';
  if (paused !== undefined) return 'paused';
  if (backPressure !== undefined) return pressureState(backPressure);
  return failing === undefined ? 'enabled' : 'failing';
}

/** The same, and under back-pressure what it means. */
function stateText(view: SubscriptionView): string {
  const { backPressure } = view;
  const state = describeState(view);
  if (backPressure === undefined || state !== pressureState(backPressure)) return state;
  const { reason, since, perSecond } = backPressure;
  const pace = perSecond === undefined ? 'one request at a time' : `at most ${perSecond} requests a second`;
  const cause =
    reason === 'receiver_throttled' ? ' since a refusal at' : ', the subscriber is or was down since';
  return `enabled, ${pace}${cause} ${clockTime(since)}`;
}

/** A subscription as text, one field per line. `waiting`: how many deliveries wait and why. */
export function describeSubscription(view: SubscriptionView, waiting?: string): string {
  const { id, source, name, subscriber, ttl, age, disabled, failing } = view;
  const { certificateExpiresAt, previousSecretExpiresAt } = view;
  const { auth, ...options } = view.options;
  const failures = failing && counted(failing.failures, 'counted failure', 'counted failures');
  return fieldLines([
    ['Subscription', printable(id)],
    ['Queue', printable(source)],
    ['Name', name && printable(name)],
    ['Subscriber', printable(subscriber)],
    ['State', stateText(view)],
    ['Disabled at', disabled && clockTime(disabled.at)],
    ...pauseFields(view),
    ['Failing since', failing && `${clockTime(failing.since)}, ${failures}`],
    ['Waiting', waiting],
    ['Age', inWords(age)],
    ['Expires', ttl === null ? 'never' : `${inWords(ttl)} after creation, or after its ttl was last changed`],
    ['Authentication', auth && authText(auth)],
    ['Certificate expires', certificateExpiresAt && clockTime(certificateExpiresAt)],
    ['Previous secret', previousSecretText(previousSecretExpiresAt)],
    ['Options', printableJson(JSON.stringify(options))],
  ]).join('\n');
}

function previousSecretText(end: string | undefined): string | undefined {
  return end && `signs beside the current one until ${clockTime(end)}`;
}

function pauseFields({ paused }: SubscriptionView): [string, string][] {
  if (paused === undefined) return [];
  return [[paused.by === 'queue' ? 'Queue paused' : 'Paused', describePauseTimes(paused)]];
}

/** Without certificates, which are long; `--json` shows them. */
function authText({ type, ...fields }: NonNullable<SubscriptionView['options']['auth']>): string {
  const short = Object.entries(fields).filter(
    ([, value]) => typeof value === 'string' && !value.includes('-----'),
  );
  return printable([type, ...short.map(([name, value]) => `${name}: ${String(value)}`)].join(', '));
}

/** Command options for the requests to a subscriber. JSON values are source text. `auth`: what `authFile` contains. */
type CallOptions = Partial<
  Record<'options' | 'policy' | 'postData' | 'filter' | 'authFile' | 'auth', string> &
    Record<'attemptTimeout' | 'maxPerSecond', number> &
    Record<'raw' | 'retryThrottled' | 'adaptToThrottling' | 'holdWhileDown', boolean>
> & { header?: readonly (readonly [name: string, value: string])[]; eventType?: readonly string[] };

const CALL_OPTIONS = [
  option('--policy <POLICY>', 'retry policy, as JSON or a preset (_retry_policy)', parsePolicy),
  option(
    '--header <NAME: VALUE>',
    'add this header to each request; repeatable. Other users see arguments: use --auth-file for credentials',
    collect(parseHeader),
  ),
  option('--post-data <TEXT>', 'request body; "$zaqar_message$" in it is replaced by the message'),
  option('--raw', 'send only the data, without the envelope'),
  option('--attempt-timeout <SECONDS>', 'timeout of an attempt', wholeNumber(1, 30)),
  option('--max-per-second <NUMBER>', 'maximum requests per second, 0.01 to 1000', parseRate),
  option('--retry-throttled', 'retry a 429, even if the policy does not list it'),
  option('--adapt-to-throttling', 'slow down to what the subscriber takes; a 429 is retried'),
  option('--no-adapt-to-throttling', 'send at the times of the retry policy, also after refusals'),
  option('--hold-while-down', 'while the subscriber is down, send one probe at a time'),
  option('--no-hold-while-down', 'send at the times of the retry policy, even to one that is down'),
  option('--event-type <TYPE>', 'only messages of this type; repeatable', collect(String)),
  option('--filter <JSON>', 'only messages whose data matches this filter', parseJsonObjectText),
  option('--auth-file <FILE>', 'how requests authenticate (auth), as JSON in this file; - for stdin'),
  option(
    '--options <JSON>',
    'all options, in the form of the API; the options above override them',
    parseJsonObjectText,
  ),
];

type Options = CallOptions & { name?: string; ttl?: number };

/** `posthaste subscription create` */
export const subscriptionCreate = deployed<Options>({
  description: 'Subscribe a URL to a queue, and print the signing secret once. Creates a missing queue.',
  arguments: [
    QUEUE,
    argument('<URL>', 'http or https URL of the subscriber; pull: or pull:NAME if it fetches its messages'),
  ],
  options: [
    option('--name <NAME>', 'a name for people, such as that of the customer'),
    option(
      '--ttl <DURATION>',
      'the subscription expires after this long: seconds, or 30m, 1h, 2d (default: never)',
      wholeSeconds(1),
    ),
    ...CALL_OPTIONS,
  ],
  json: 'subscription_id, secret, confirmation',
  examples: [
    'subscription create orders https://example.com/hook --name "ACME, production"',
    'subscription create orders https://example.com/hook',
    'subscription create orders pull:warehouse',
    'subscription create orders https://example.com/hook --auth-file auth.json',
    `subscription create orders https://example.com/hook --event-type order.created --policy '{"maximum_delay": 60}'`,
  ],
  run: async ({ options, terminal }, queue, subscriber) => {
    const body = objectText({
      subscriber: jsonText(subscriber),
      name: jsonText(options.name),
      ttl: jsonText(options.ttl),
      options: optionsText(await withAuth(options, terminal)),
    });
    const api = await openApiToWrite(options, terminal);
    const sayIfNew = await newQueueNotice(api, queue, terminal);
    const created = await api.call(subscribe, { path: { queue }, body });
    sayIfNew();
    const { subscription_id: id, secret, confirmation, warnings } = created;
    if (options.json !== true) printWarnings(warnings, terminal);
    const lines = [
      `Created subscription ${printable(id)}.`,
      ...(secret === undefined ? [] : [shownOnce('Signing secret', secret)]),
      ...(confirmation === 'owed' ? [UNCONFIRMED] : []),
    ];
    return [created, () => lines.join('\n')];
  },
});

function printWarnings(warnings: readonly FieldError[] = [], { printError }: Terminal): void {
  for (const { field, message } of warnings) printError(`Warning: ${printable(`${field} ${message}`)}.`);
}

const UNCONFIRMED = `The confirmation request could not be sent. To send it again, run ${commandText('subscription update')} with the same --url.`;

type UpdateOptions = Options & { url?: string; keepSecret?: true };

/** `posthaste subscription update` */
export const subscriptionUpdate = deployed<UpdateOptions>({
  description: 'Change a subscription.',
  arguments: SUBSCRIPTION_ADDRESS,
  options: [
    option('--name <NAME>', 'new name; "" removes the name'),
    option('--url <URL>', 'new URL of the subscriber; another scheme, host or port gets a new secret'),
    option('--keep-secret', 'keep the signing secret, even if --url has another origin'),
    option(
      '--ttl <DURATION>',
      'the subscription expires this long after the change: seconds, or 30m, 1h, 2d',
      wholeSeconds(1),
    ),
    ...CALL_OPTIONS,
  ],
  json: 'the subscription after the change',
  more: `
Only the given settings change. --event-type and --header replace all that were
there, --options replaces all options.

If --url moves the subscription to another origin (scheme, host or port), headers
that carry credentials and auth are removed: give them again. Requests are then
signed with a new secret, which is printed once, unless --keep-secret is given.
`,
  examples: [
    `subscription update orders 5b0c0f1e --policy '{"maximum_delay": 60}'`,
    'subscription update orders 5b0c0f1e --url https://example.com/other',
  ],
  run: async ({ options: given, terminal, refuse }, queue, reference) => {
    const options = await withAuth(given, terminal);
    const { name, url, keepSecret, ttl } = options;
    const isGiven = [name, url, ttl, options.options].some((value) => value !== undefined);
    if (!isGiven && !isAnyGiven(options)) refuse('there is nothing to change; add one of the options');
    const api = await openApiToWrite(options, terminal);
    const path = { queue, subscription: await resolveSubscription(api, queue, reference) };
    const before = await readBefore(api, path, options);
    const body = objectText({
      name: name === '' ? 'null' : jsonText(name),
      subscriber: jsonText(url),
      ttl: jsonText(ttl),
      options: changedOptions(options, before),
      secret: keepSecret && jsonText('keep'),
    });
    const changedAt = new Date().toISOString();
    const view = await api.call(updateSubscription, { path, body });
    terminal.printResult(options, view, () => updatedText(view, before, changedAt));
    if (options.json !== true) printWarnings(view.warnings, terminal);
    return undefined;
  },
});

/** What is merged with the change, or can be removed by it. A caller that may change a URL need not see subscriptions. */
async function readBefore(
  api: ApiClient,
  path: { queue: string; subscription: string },
  options: UpdateOptions,
): Promise<SubscriptionView | undefined> {
  const isMerged = options.options === undefined && isAnyGiven(options);
  if (isMerged) return api.call(getSubscription, { path });
  if (options.url === undefined) return undefined;
  return api.call(getSubscription, { path }).catch(orElse(isForbidden, undefined));
}

function updatedText(
  view: SubscriptionView & { secret?: string },
  before: SubscriptionView | undefined,
  changedAt: string,
): string {
  return [
    describeSubscription(view),
    ...(before === undefined ? [] : removedText(before, view)),
    ...(view.secret === undefined ? [] : newSecretText(view, view.secret, changedAt)),
  ].join('\n');
}

/** The credentials that a move to another origin took away. */
function removedText(before: SubscriptionView, after: SubscriptionView): string[] {
  const { auth, post_headers: headers = {} } = before.options;
  const isKept = (name: string): boolean => after.options.post_headers?.[name] !== undefined;
  const names = Object.keys(headers).filter((name) => headers[name] === REDACTED && !isKept(name));
  const removed = [
    ...(auth === undefined || after.options.auth !== undefined ? [] : [`the authentication (${auth.type})`]),
    ...names.map((name) => `the header ${printable(name)}`),
  ];
  return removed.length === 0
    ? []
    : [`Removed: ${removed.join(', ')}. To give them again, use --auth-file or --header.`];
}

function newSecretText({ source, id }: SubscriptionView, secret: string, changedAt: string): string[] {
  const recover = `recover start ${source} --subscription ${shortId(id)} --by failure --since ${changedAt} --status rejected`;
  return [
    shownOnce('New signing secret', secret),
    'It signs from now on: a subscriber that does not have it yet answers 401, which is not retried.',
    `To recover what it refuses until it has the new one: ${commandText(recover)}`,
  ];
}

/** The API replaces all options, so the changes are added to those `before`. */
function changedOptions(given: CallOptions, before: SubscriptionView | undefined): string | undefined {
  if (given.options !== undefined) return optionsText(given);
  if (before === undefined || !isAnyGiven(given)) return undefined;
  return optionsText(given, JSON.stringify(before.options));
}

/** In bytes; the API's limit for all options. */
const MAX_AUTH_FILE = 65_536;

/**
 * The options with what `--auth-file` contains. A file, because other users of this machine could see secrets in the
 * arguments.
 * @throws Problem that does not quote the file
 */
async function withAuth<Given extends CallOptions>(given: Given, terminal: Terminal): Promise<Given> {
  const { authFile } = given;
  if (authFile === undefined) return given;
  const auth = await readInput(authFile, MAX_AUTH_FILE, terminal);
  if (!isJsonObject(jsonOrUndefined(auth)))
    throw new Problem('The file for --auth-file must contain a JSON object.');
  return { ...given, auth };
}

/** Whether any of these options was given, apart from `--options`. */
function isAnyGiven(given: CallOptions): boolean {
  return Object.values(buildMembers(given)).some((text) => text !== undefined);
}

/** The source text of the API's `options`: those in `before`, overridden by the given options. */
function optionsText(given: CallOptions, before = '{}'): string {
  return withMembers(given.options ?? before, buildMembers(given));
}

function buildMembers(given: CallOptions) {
  return {
    _retry_policy: given.policy,
    post_headers: given.header && jsonText(Object.fromEntries(given.header)),
    post_data: jsonText(given.postData),
    raw_delivery: jsonText(given.raw),
    attempt_timeout: jsonText(given.attemptTimeout),
    max_per_second: jsonText(given.maxPerSecond),
    retry_throttled: jsonText(given.retryThrottled),
    adapt_to_throttling: jsonText(given.adaptToThrottling),
    hold_while_down: jsonText(given.holdWhileDown),
    event_types: jsonText(given.eventType),
    filter: given.filter,
    auth: given.auth,
  } satisfies Record<keyof SubscriptionOptions | 'auth', string | undefined>;
}

function parseHeader(text: string): readonly [string, string] {
  const at = text.indexOf(':');
  if (at < 1) throw new InvalidArgumentError('Expected NAME: VALUE.');
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}
