import { ContendedError } from '../../../shared/domain/contention.ts';
import { canonicalJson } from '../../../shared/domain/json.ts';
import {
  type Auth,
  redactedAuth,
  findHeaderName,
  redactedFields,
  type StoredAuth,
} from '../../../shared/domain/subscription/auth.ts';
import {
  asWebhook,
  type Destination,
  findAuth,
  hasNewOrigin,
  withAuth,
} from '../../../shared/domain/subscription/destination.ts';
import type { Subscription, SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import type { ChangeContext } from '../dependencies.ts';
import { invalidFields, type RefusedRequest } from '../errors.ts';
import { certificateFault, findCertificateExpiry, tlsFault } from './auth-option.ts';

type Target = Pick<Subscription, 'id' | 'queue' | 'destination' | 'options'>;

/**
 * The form of a given `options.auth` in the record: `stored` itself if nothing differs from what is shown of it. With
 * any other difference a secret has to be given again, because it would go where it was not given for: another client,
 * tenant, header or server.
 * @throws RefusedRequest
 */
export async function sealAuth(
  context: ChangeContext,
  target: Target,
  given: Auth | undefined,
  stored?: StoredAuth,
): Promise<StoredAuth | undefined> {
  if (given === undefined) return undefined;
  requireFitting(target, given);
  if (stored !== undefined && canonicalJson(given) === canonicalJson(stored.shown)) return stored;
  requireSecrets(given, stored);
  const now = context.clock.now();
  const end = requireValid(given, now);
  const { queue, id: subscriptionId } = target;
  const sealed = await context.secretSealer.sealAuth({ queue, subscriptionId }, given);
  return { shown: redactedAuth(given), sealed, at: Math.max(now, (stored?.at ?? 0) + 1), ...end };
}

/** What was stored, and what replaces it. */
export type AuthChange = { before: StoredAuth | undefined; after: StoredAuth | undefined };

/**
 * What a change of the options does to the credentials; undefined: nothing. Without new ones they are removed, and
 * stored ones are not sent to another origin.
 * @throws RefusedRequest
 */
export async function authChange(
  context: ChangeContext,
  current: Subscription,
  {
    options,
    auth,
    destination = current.destination,
  }: { options?: SubscriptionOptions; auth?: Auth; destination?: Destination },
): Promise<AuthChange | undefined> {
  if (options === undefined) return undefined;
  const before = findAuth(current.destination);
  const kept = hasNewOrigin(current.destination, destination) ? undefined : before;
  const after = await sealAuth(context, { ...current, destination, options }, auth, kept);
  return after === before ? undefined : { before, after };
}

/**
 * `edited` with the new credentials. `current`: as it is stored now.
 * @throws ContendedError if the credentials have changed since, for example because the subscription moved
 */
export function withAuthChange(
  change: AuthChange | undefined,
  edited: Subscription,
  current: Subscription,
): Subscription {
  if (change === undefined) return edited;
  const { before, after } = change;
  if (findAuth(current.destination)?.sealed !== before?.sealed)
    throw new ContendedError(`subscription ${current.queue}/${current.id}`);
  return { ...edited, destination: withAuth(edited.destination, after) };
}

/** @throws RefusedRequest for a placeholder in place of a secret */
function requireSecrets(given: Auth, stored: StoredAuth | undefined): void {
  const message =
    stored === undefined
      ? 'is redacted, and no stored value exists: send the value'
      : 'is redacted, which keeps the stored value only if nothing else of options.auth changes: send the value';
  const redacted = redactedFields(given);
  if (redacted.length > 0)
    throw invalidFields(redacted.map((field) => ({ field: `options.auth.${field}`, message })));
}

/** @throws RefusedRequest if these credentials cannot be sent to this subscriber */
function requireFitting({ destination, options }: Target, auth: Auth): void {
  const webhook = asWebhook(destination);
  if (webhook === undefined) throw refused('', 'cannot be set: no requests are sent to pull: subscribers');
  if (needsTls(auth) && URL.parse(webhook.url)?.protocol !== 'https:')
    throw refused('', 'has certificates, which need an https subscriber');
  const own = findHeaderName(auth);
  const name = Object.keys(options.post_headers ?? {}).find((header) => header.toLowerCase() === own);
  if (name !== undefined)
    throw invalidFields([
      { field: `options.post_headers.${name}`, message: 'is also the header of options.auth' },
    ]);
}

/** With a token the `ca` may be for the token URL, which has TLS. */
function needsTls({ type, ca }: Auth): boolean {
  return type === 'mtls' || (ca !== undefined && type !== 'oauth2_client_credentials');
}

/** @throws RefusedRequest */
function requireValid(auth: Auth, now: number): Pick<StoredAuth, 'notAfter'> {
  if (auth.type !== 'mtls' && auth.type !== 'oauth2_client_credentials') return {};
  const { certificate, private_key } = auth;
  if (certificate === undefined || private_key === undefined) return {};
  const fault =
    certificateFault({ certificate, private_key }, now) ??
    (auth.type === 'mtls' ? tlsFault({ certificate, private_key }) : undefined);
  if (fault !== undefined) throw refused(`.${fault.field}`, fault.message);
  return { notAfter: findCertificateExpiry(certificate) };
}

function refused(field: string, message: string): RefusedRequest {
  return invalidFields([{ field: `options.auth${field}`, message }]);
}
