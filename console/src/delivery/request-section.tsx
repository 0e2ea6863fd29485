import type { DeliveryAddress } from '../../../api-client/deliveries.ts';
import { getPayload, getSubscription } from '../../../api-client/operations.ts';
import { isNotFound } from '../../../api-client/refusal.ts';
import { authSchema, findHeaderName } from '../../../shared/domain/subscription/auth.ts';
import { REDACTED } from '../../../shared/domain/subscription/credential-headers.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { usePage } from '../live/page-context.tsx';
import { useLive } from '../live/use-live.ts';
import { Loaded, Empty } from '../parts/loaded.tsx';
import { Section } from '../parts/page-heading.tsx';
import { SourceText } from '../parts/source-text.tsx';

/**
 * The request of each attempt as far as it is known, as a command that repeats it. It is not polled: the data can have
 * 1 MiB.
 */
export function RequestSection({ address }: { address: DeliveryAddress }) {
  const { api } = usePage();
  const { queue, messageId, subscriptionId } = address;
  const load = async (signal: AbortSignal): Promise<KnownRequest> => {
    const path = { queue, message: messageId, subscription: subscriptionId };
    const [subscription, { body }] = await Promise.all([
      api.call(getSubscription, { path, signal }),
      api.call(getPayload, { path, signal }),
    ]);
    return knownRequest(subscription, messageId, body);
  };
  const live = useLive(`request/${JSON.stringify(address)}`, load, { once: true });
  return (
    <Section title="Request">
      {isNotFound(live.failure) ? (
        <Empty title="The request is not known, because the subscription or the message no longer exists" />
      ) : (
        <Loaded live={live}>{(known) => <Request known={known} />}</Loaded>
      )}
    </Section>
  );
}

function Request({ known }: { known: KnownRequest }) {
  const { url } = known;
  switch (parseDestination(url).kind) {
    case 'webhook':
      return <WebhookRequest known={known} />;
    case 'pull':
      return <Empty title="No request is made: the subscriber receives by pull" />;
  }
}

function WebhookRequest({ known }: { known: KnownRequest }) {
  const { body, redacted, fileOptions } = known;
  return (
    <div class="stack">
      <p>
        The request of each attempt, with the current URL and headers, as a command for bash or zsh, which
        sends the message once more.
      </p>
      <ul class="notes">
        <li>
          Left out: user-agent, and webhook-timestamp and webhook-signature, which differ for each attempt.
        </li>
        {redacted.length === 0 ? null : <li>Hidden values to replace: {redacted.join(', ')}.</li>}
        {fileOptions.length === 0 ? null : <li>To add, each with a file: {fileOptions.join(', ')}.</li>}
        <li>
          {body === undefined
            ? 'The body is empty, because the message is not stored.'
            : 'The body is what is sent with the options as they are now.'}
        </li>
      </ul>
      <SourceText text={curlCommand(known)} what="the curl command" />
    </div>
  );
}

/** A header as a subscriber gets it. */
type RequestHeader = readonly [name: string, value: string];

/**
 * A command that repeats a request. All values come from producers and subscribers: each is one quoted word, and none
 * can be read as an option, as the name of a file, or as a pattern of URLs.
 */
export function curlCommand({
  url,
  headers,
  body = '',
}: Pick<KnownRequest, 'url' | 'headers' | 'body'>): string {
  const lines = [
    'curl --globoff --path-as-is --request POST',
    `--url ${shellWord(url)}`,
    // curl removes a header that is given as "name:"; "name;" sends it without a value.
    ...headers.map(
      ([name, value]) => `--header ${shellWord(value === '' ? `${name};` : `${name}: ${value}`)}`,
    ),
    // --data and --data-binary would read the file that a body of "@name" names.
    `--data-raw ${shellWord(body)}`,
  ];
  return lines.join(' \\\n  ');
}

/** Control and format characters: a terminal could act on them when the command is pasted or shown. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** Quotes and exclamation marks too, because history expansion of older shells does not know `$'…'`. */
const ESCAPED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\'!]/gu;

/** One word of bash or zsh. Text with invisible characters is quoted as `$'…'`, which names their bytes. */
function shellWord(text: string): string {
  if (!INVISIBLE.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`;
  return `$'${text.replaceAll(ESCAPED, escapeCharacter)}'`;
}

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n';
  return [...new TextEncoder().encode(character)]
    .map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`)
    .join('');
}

/** A request to a subscriber, as far as the API shows it. */
type KnownRequest = {
  url: string;
  headers: readonly RequestHeader[];
  /** Undefined: the message is not stored, or cannot be rendered. */
  body: string | undefined;
  /** Names of headers whose values are redacted. */
  redacted: readonly string[];
  /** Options of curl for files that the API does not show. */
  fileOptions: readonly string[];
};

/**
 * The request of a delivery with the current URL and options. Without the time and the signature, which differ for
 * each attempt.
 */
export function knownRequest(
  { subscriber, options }: Pick<SubscriptionView, 'subscriber' | 'options'>,
  messageId: string,
  body: string | undefined,
): KnownRequest {
  const own = Object.entries(options.post_headers ?? {}).map(([name, value]): RequestHeader => [
    name.toLowerCase(),
    value,
  ]);
  own.push(...authHeader(options.auth));
  const type: RequestHeader[] = own.some(([name]) => name === 'content-type')
    ? []
    : [['content-type', 'application/json']];
  return {
    url: URL.parse(subscriber)?.href ?? subscriber,
    headers: [...type, ...own, ['accept-encoding', 'identity'], ['webhook-id', messageId]],
    body,
    redacted: own.filter(([, value]) => value === REDACTED).map(([name]) => name),
    fileOptions: fileOptionsFor(options.auth),
  };
}

function authHeader(auth: SubscriptionView['options']['auth']): RequestHeader[] {
  const known = authSchema.safeParse(auth).data;
  const name = known && findHeaderName(known);
  return name === undefined ? [] : [[name, REDACTED]];
}

function fileOptionsFor(auth: SubscriptionView['options']['auth']): string[] {
  return [
    ...(auth?.type === 'mtls' ? ['--cert', '--key'] : []),
    ...(auth?.['ca'] === undefined ? [] : ['--cacert']),
  ];
}
