import { type Attempt, toAttemptResult, withBoundedText } from '../../shared/domain/delivery/attempt.ts';
import { classifyReply, type Reply, type Sent } from '../../shared/domain/retry/outcome.ts';
import { waitedUntil } from '../../shared/domain/delivery/waits.ts';
import type { WebhookRequest } from '../../shared/domain/delivery/webhook-request.ts';
import { linkTokens } from '../../shared/domain/message/confirmation-request.ts';
import type { Payload } from '../../shared/domain/message/payload.ts';
import type { CompletedRetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { Auth, OAuth2Auth } from '../../shared/domain/subscription/auth.ts';
import { isCredential } from '../../shared/domain/subscription/credential-headers.ts';
import { findAuth } from '../../shared/domain/subscription/destination.ts';
import { computeAttemptTimeout, type Subscription } from '../../shared/domain/subscription/subscription.ts';
import { type ClientTls, RequestNotSentError } from '../../shared/ports/subscriber.ts';
import { signedRequest } from '../../shared/steps/sign-request.ts';
import type { DeliverContext, DeliverPorts } from './context.ts';
import { withoutSecrets } from './redact.ts';
import type { LeasedRequest } from './slots.ts';

/** A delivery whose request can be sent now. */
export type ReadyRequest = LeasedRequest & {
  policy: CompletedRetryPolicy;
  /** The rate-limit slot that the request waited for or missed; undefined: the limit did not delay it. */
  slotAt: number | undefined;
};

/**
 * The result of one request. `dueAt`: milliseconds since the epoch; undefined for a first attempt without a delay.
 */
export type AttemptResult = { attempt: Attempt; reply: Sent; dueAt: number | undefined };

/**
 * Sends the request. Every subscriber failure is a result, not an error.
 * @throws RequestNotSentError if the request did not leave the function
 */
export async function send(context: DeliverContext, ready: ReadyRequest): Promise<AttemptResult> {
  const { ports, settings } = context;
  const { payload, subscription } = ready;
  const startedAt = ports.clock.now();
  const timeoutMs = computeAttemptTimeout(ready, settings.attemptTimeoutMs);
  const sent =
    payload.kind === 'unrendered'
      ? payload
      : await postAuthorised(ports, posted(context, ready, payload, startedAt), timeoutMs);
  const reply = withoutSecrets(sent, [...credentialsIn(subscription), ...linkTokens(ready.stored.message)]);
  // The clock may be set back meanwhile.
  const durationMs = Math.max(0, ports.clock.now() - startedAt);
  const dueAt = computeDueAt(ready);
  const decided = classifyReply(reply, ready.policy.policy.retry_on_status);
  // A rejection would be final, although the current credentials may be accepted. If they cannot be read, the attempt
  // counts too: its request was made, and the retry reads them again.
  const isRetried =
    decided === 'rejected' && (await isAuthOutdated(ports, subscription, reply).catch(() => true));
  const outcome = isRetried ? 'failed' : decided;
  const attempt = buildAttempt(ready, { startedAt, durationMs, outcome }, { reply, dueAt });
  return { attempt, reply, dueAt };
}

function posted(
  { settings }: DeliverContext,
  { stored, subscription, credentials }: ReadyRequest,
  payload: Payload,
  startedAt: number,
): Posted {
  const { userAgent } = settings;
  const { secrets, auth } = credentials;
  const signed = { secrets, startedAt, userAgent };
  return { subscription, auth, request: signedRequest(stored.message, payload, subscription, signed) };
}

/** Values of `post_headers` that carry credentials: the record does not repeat them. */
function credentialsIn({ options }: Subscription): string[] {
  const headers = Object.entries(options.post_headers ?? {});
  return headers.filter(([name, value]) => isCredential(name, value)).map(([, value]) => value);
}

/** When the attempt was due: the policy's time, or the rate-limit slot if that is later. */
function computeDueAt({ delivery, slotAt }: ReadyRequest): number | undefined {
  const policyDueAt = delivery.next?.dueAt;
  return slotAt === undefined ? policyDueAt : Math.max(slotAt, policyDueAt ?? slotAt);
}

function buildAttempt(
  ready: ReadyRequest,
  made: Pick<Attempt, 'startedAt' | 'durationMs' | 'outcome'>,
  { dueAt, reply }: Omit<AttemptResult, 'attempt'>,
): Attempt {
  const { delivery, trigger } = ready;
  const { attempts, round, next, lost } = delivery;
  const recordedDueAt = next === undefined ? findDelayEnd(ready) : dueAt;
  return {
    number: attempts.length + 1,
    round,
    phase: next?.phase ?? 'initial',
    ...(trigger === undefined ? {} : { by: trigger }),
    ...(recordedDueAt === undefined ? {} : { dueAt: recordedDueAt }),
    ...waitedUntil(delivery, dueAt ?? made.startedAt),
    ...made,
    result: withBoundedText(toAttemptResult(reply), attempts),
    ...(lost > 0 ? { lost } : {}),
  };
}

function findDelayEnd({ work }: ReadyRequest): number | undefined {
  return work.kind === 'job' ? work.dueAt : undefined;
}

type Posted = { subscription: Subscription; auth: Auth | undefined; request: WebhookRequest };
type Ports = Pick<DeliverPorts, 'accessTokens' | 'clock' | 'subscriber'>;

/**
 * Sends the request with the subscription's credentials. The reply is for the record: it does not contain them, even
 * if the subscriber sent them back.
 * @throws RequestNotSentError
 */
async function postAuthorised(
  ports: Ports,
  { subscription, auth, request }: Posted,
  timeoutMs: number,
): Promise<Reply> {
  switch (auth?.type) {
    case undefined:
      return ports.subscriber.post(request, timeoutMs);
    case 'oauth2_client_credentials':
      return postWithToken(ports, { subscription, auth, request }, timeoutMs);
    case 'header':
    case 'basic':
    case 'mtls':
      return postWith(ports, buildCredentials(auth), { auth, request }, timeoutMs);
  }
}

async function postWith(
  { subscriber }: Ports,
  { headers, secrets }: Credentials,
  { auth, request }: { auth: Auth; request: WebhookRequest },
  timeoutMs: number,
): Promise<Reply> {
  const authorised = { ...request, headers: { ...request.headers, ...headers } };
  return withoutSecrets(await subscriber.post(authorised, timeoutMs, buildTls(auth)), secrets);
}

function buildTls(auth: Auth): { tls?: ClientTls } {
  const { ca } = auth;
  if (ca === undefined && auth.type !== 'mtls') return {};
  const identity = auth.type === 'mtls' && { certificate: auth.certificate, privateKey: auth.private_key };
  return { tls: { ...(identity && { identity }), ...(ca !== undefined && { ca }) } };
}

/**
 * Within `timeoutMs`: the token, the request and, if the subscriber refuses a token that is not new, one more of each.
 * A failure to get a token can be retried, even after a 401: the subscriber has not refused a valid one.
 */
async function postWithToken(
  ports: Ports,
  { subscription, auth, request }: Posted & { auth: OAuth2Auth },
  timeoutMs: number,
): Promise<Reply> {
  const { accessTokens, clock } = ports;
  const owner = { queue: subscription.queue, subscriptionId: subscription.id };
  const deadline = clock.now() + timeoutMs;
  const leftMs = (): number => Math.max(0, deadline - clock.now());
  const posted = { auth, request };
  const first = await accessTokens.tokenFor(owner, auth, { timeoutMs });
  if (first.kind === 'failed') return authFailed(first.detail);
  const reply = await postWith(ports, bearer(first.token), posted, leftMs());
  if (!isRefused(reply, [UNAUTHORIZED])) return reply;
  try {
    const second = await accessTokens.tokenFor(owner, auth, { timeoutMs: leftMs(), refused: first.token });
    if (second.kind === 'failed') return authFailed(second.detail);
    return second.token === first.token
      ? reply
      : await postWith(ports, bearer(second.token, first.token), posted, leftMs());
  } catch (error) {
    // The subscriber has had a request, so the attempt counts.
    if (error instanceof RequestNotSentError) return authFailed(`not sent again: ${error.lack}`);
    throw error;
  }
}

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

function authFailed(detail: string): Reply {
  return { kind: 'unanswered', error: 'auth_failed', detail };
}

/** RFC 6750 §2.1. `refused`: a token that the subscriber got before. */
function bearer(token: string, ...refused: readonly string[]): Credentials {
  return { headers: { authorization: `Bearer ${token}` }, secrets: [token, ...refused] };
}

/**
 * Whether the credentials were refused and have been replaced since, so that another attempt uses the new ones. First
 * attempts may use a subscription that is some seconds old.
 */
async function isAuthOutdated(
  { subscriptions }: Pick<DeliverPorts, 'subscriptions'>,
  { queue, id, destination }: Subscription,
  reply: Sent,
): Promise<boolean> {
  const auth = findAuth(destination);
  // Some receivers refuse unknown credentials by 403.
  if (auth === undefined || !isRefused(reply, [UNAUTHORIZED, FORBIDDEN])) return false;
  const { subscription } = await subscriptions.find(queue, id, 'fresh');
  const current = subscription && findAuth(subscription.destination);
  return current !== undefined && current.at !== auth.at;
}

function isRefused(reply: Sent, statuses: readonly number[]): boolean {
  return reply.kind === 'answered' && statuses.includes(reply.statusCode) && reply.asks === undefined;
}

/** `secrets`: what must not be shown if the subscriber sends it back. */
type Credentials = { headers: Record<string, string>; secrets: readonly string[] };

function buildCredentials(auth: Exclude<Auth, OAuth2Auth>): Credentials {
  switch (auth.type) {
    case 'header':
      return { headers: { [auth.name.toLowerCase()]: auth.value }, secrets: [auth.value] };
    case 'basic': {
      // RFC 7617, in UTF-8.
      const credentials = Buffer.from(`${auth.username}:${auth.password}`).toString('base64');
      return { headers: { authorization: `Basic ${credentials}` }, secrets: [credentials, auth.password] };
    }
    case 'mtls':
      return { headers: {}, secrets: [] };
  }
}
