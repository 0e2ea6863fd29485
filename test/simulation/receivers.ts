import type { Reply } from '../../shared/domain/retry/outcome.ts';
import type { WebhookRequest } from '../../shared/domain/delivery/webhook-request.ts';
import type { Subscriber } from '../../shared/ports/subscriber.ts';
import type { Actor, History, SeenRequest } from './history.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { SECOND, START, type Answer, type Answers, type PlannedRefusals } from './scenario.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';

export type Receivers = ReturnType<typeof simulatedReceivers>;

const HEALTHY: Answers = { first: [], then: { takesMs: 0, response: { status: 200 } } };

const subscriptionAt = (url: string): string => url.split('/')[3] ?? '';

/** All subscribers, with a log of every request they received. */
export const simulatedReceivers = (
  world: { time: VirtualClock; history: History; deliveries: DeliveryStore },
  planned: ReadonlyMap<string, Answers>,
) => {
  const { time, history, deliveries } = world;
  const counts = new Map<string, number>();
  const taken = new Map<string, readonly number[]>();
  let addresses = 0;
  let onRequest = (_subscriptionId: string, _token: string): void => undefined;

  const nextAnswer = (delivery: string, subscriptionId: string): Answer => {
    const { first, then, refuses } = planned.get(subscriptionId) ?? HEALTHY;
    const refused = refuses && refusal(subscriptionId, refuses);
    if (refused !== undefined) return refused;
    const count = counts.get(delivery) ?? 0;
    counts.set(delivery, count + 1);
    return first[count] ?? then;
  };

  const refusal = (
    subscriptionId: string,
    { perSecond = Infinity, retryAfter, outages = [] }: PlannedRefusals,
  ): Answer | undefined => {
    const now = time.now();
    const outage = outages.find(({ from, to }) => now >= START + from && now < START + to);
    if (outage !== undefined) return outage.answer;
    const recent = (taken.get(subscriptionId) ?? []).filter((at) => at > now - SECOND);
    if (recent.length < perSecond) {
      taken.set(subscriptionId, [...recent, now]);
      return undefined;
    }
    const hint = retryAfter === undefined ? {} : { retryAfter };
    return { takesMs: 20, response: { status: 429 }, ...hint };
  };

  const confirmed = (subscriptionId: string, { body, webhookId }: SeenRequest): void => {
    const [, token] = /\/confirm\?token=([\w-]+)"/.exec(body) ?? [];
    if (webhookId.startsWith('confirm_') && token !== undefined) onRequest(subscriptionId, token);
  };

  const post = (actor: Actor, request: WebhookRequest, timeoutMs: number): Promise<Reply> => {
    const webhookId = request.headers['webhook-id'] ?? '';
    const subscriptionId = subscriptionAt(request.url);
    const delivery = `${webhookId}/${subscriptionId}`;
    const answer = nextAnswer(delivery, subscriptionId);
    const reply = answer.takesMs > timeoutMs ? TIMED_OUT : replyOf(answer);
    const seen: SeenRequest = {
      at: time.now(),
      delivery,
      actor,
      grant: deliveries.grantOf(actor.owner, delivery),
      url: request.url,
      webhookId,
      body: request.body.toString(),
      signedAt: request.headers['webhook-timestamp'] ?? '',
      signatures: request.headers['webhook-signature'] ?? '',
      reply,
    };
    // A forbidden address: no request is made.
    (reply.kind === 'forbidden' ? history.refused : history.requests).push(seen);
    history.trace?.push(`${time.now()} ${delivery} was called by ${actor.name}: ${JSON.stringify(reply)}`);
    return new Promise((resolve) => {
      time.at(time.now() + Math.min(answer.takesMs, timeoutMs), () => {
        if (!actor.invocation.hasEnded) seen.answeredAt = time.now();
        if (reply.kind === 'answered' && reply.statusCode < 300) confirmed(subscriptionId, seen);
        resolve(reply);
      });
    });
  };

  return {
    /** A new address for the receiver, on the same server unless `server` is given. */
    newAddressOf: (subscriptionId: string, server?: 'new server'): string => {
      addresses += 1;
      const host = server === undefined ? 'receiver.test' : `r${addresses}.receiver.test`;
      return `https://${host}/${subscriptionId}/${addresses}`;
    },
    /** Calls back with the token of each confirmation request that a receiver accepted. */
    onConfirmationRequest: (callback: typeof onRequest): void => {
      onRequest = callback;
    },
    portFor: (actor: Actor): Subscriber => ({
      post: (request, timeoutMs) => post(actor, request, timeoutMs),
    }),
  };
};

const TIMED_OUT: Reply = { kind: 'unanswered', error: 'timeout' };

const replyOf = ({ response, retryAfter }: Answer): Reply => {
  if (response === 'forbidden') return { kind: 'forbidden' };
  if ('fault' in response) return { kind: 'unanswered', error: response.fault };
  return {
    kind: 'answered',
    statusCode: response.status,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
};
