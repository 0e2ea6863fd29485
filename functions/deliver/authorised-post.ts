import type { Reply } from '../../shared/domain/delivery/outcome.ts';
import type { WebhookRequest } from '../../shared/domain/delivery/webhook-request.ts';
import type { Auth } from '../../shared/domain/subscription/auth.ts';
import { REDACTED } from '../../shared/domain/subscription/credential-headers.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { DeliverPorts } from './context.ts';

/**
 * Sends the request with the subscription's credentials. The reply is for the record: it does not contain them, even
 * if the subscriber sent them back.
 * @throws RequestNotSentError
 */
export async function postAuthorised(
  { subscriber }: Pick<DeliverPorts, 'subscriber'>,
  auth: Auth | undefined,
  request: WebhookRequest,
  timeoutMs: number,
): Promise<Reply> {
  if (auth === undefined) return subscriber.post(request, timeoutMs);
  const { headers, secrets } = authorisationOf(auth);
  const authorised = { ...request, headers: { ...request.headers, ...headers } };
  return withoutSecrets(await subscriber.post(authorised, timeoutMs), secrets);
}

/**
 * Whether the credentials were refused and have been replaced since, so that another attempt uses the new ones. First
 * attempts may use a subscription that is some seconds old.
 */
export async function isAuthOutdated(
  { subscriptions }: Pick<DeliverPorts, 'subscriptions'>,
  { queue, id, auth }: Subscription,
  reply: Reply,
): Promise<boolean> {
  const isRefused = reply.kind === 'answered' && REFUSALS.has(reply.statusCode) && reply.asks === undefined;
  if (auth === undefined || !isRefused) return false;
  const { subscription } = await subscriptions.find(queue, id, 'fresh');
  return subscription?.auth !== undefined && subscription.auth.at !== auth.at;
}

/** Some receivers refuse unknown credentials by 403. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403]);

/** `secrets`: what must not be shown if the subscriber sends it back. */
type Authorisation = { headers: Record<string, string>; secrets: readonly string[] };

function authorisationOf(auth: Auth): Authorisation {
  switch (auth.type) {
    case 'header':
      return { headers: { [auth.name.toLowerCase()]: auth.value }, secrets: [auth.value] };
    case 'basic': {
      // RFC 7617, in UTF-8.
      const credentials = Buffer.from(`${auth.username}:${auth.password}`).toString('base64');
      return { headers: { authorization: `Basic ${credentials}` }, secrets: [credentials, auth.password] };
    }
    case 'mtls':
    case 'oauth2_client_credentials':
      return { headers: {}, secrets: [] };
  }
}

function withoutSecrets(reply: Reply, secrets: readonly string[]): Reply {
  if (reply.kind !== 'answered' || reply.snippet === undefined) return reply;
  const texts = secrets.flatMap(spellings).sort((one, other) => other.length - one.length);
  return { ...reply, snippet: texts.reduce(withoutText, reply.snippet) };
}

/** A secret as it was sent, in JSON and in a URL; also without its first word, such as "Bearer". */
function spellings(secret: string): string[] {
  const [, ...words] = secret.split(/\s+/);
  return [secret, ...words]
    .filter((text) => text !== '')
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]);
}

/** In characters. A snippet may end amid a secret; fewer characters of it are not recognised. */
const MIN_BEGINNING = 8;

function withoutText(snippet: string, text: string): string {
  const rest = snippet.replaceAll(text, REDACTED);
  for (let length = Math.min(text.length - 1, rest.length); length >= MIN_BEGINNING; length -= 1)
    if (rest.endsWith(text.slice(0, length))) return `${rest.slice(0, -length)}${REDACTED}`;
  return rest;
}
