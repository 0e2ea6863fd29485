import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { EventType } from '../../shared/domain/event-type/event-type.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import type { OAuth2Auth, StoredAuth } from '../../shared/domain/subscription/auth.ts';
import { parseDestination, withAuth } from '../../shared/domain/subscription/destination.ts';
import type { Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import { webhookRequest, type WebhookRequest } from '../../shared/domain/delivery/webhook-request.ts';
import { render } from '../../shared/domain/message/payload.ts';

export const aPolicy = (overrides: Partial<RetryPolicy> = {}): RetryPolicy => ({
  ...DEFAULT_RETRY_POLICY,
  ...overrides,
});

/** No retries; the other fields are the deployment's defaults. */
export const NO_RETRIES = {
  retries_with_no_delay: 0,
  minimum_delay_retries: 0,
  backoff_retries: 0,
  maximum_delay_retries: 0,
};

/** A policy with only the retries that a test asks for. */
export const aBarePolicy = (overrides: Partial<RetryPolicy> = {}): RetryPolicy =>
  aPolicy({ ...NO_RETRIES, ...overrides });

export const aMessage = (overrides: Partial<Message> = {}): Message => ({
  queue: 'orders',
  id: 'message-1',
  type: 'order.created',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: '{"total":12345678901234567890,"b":1,"a":2}',
  ...overrides,
});

export const aQueue = (overrides: Partial<Queue> = {}): Queue => ({
  name: 'orders',
  metadata: {},
  createdAt: 0,
  ...overrides,
});

export const anEventType = (overrides: Partial<EventType> = {}): EventType => ({
  name: 'order.created',
  createdAt: 1,
  changedAt: 1,
  ...overrides,
});

/** The URL of `aSubscription()`. */
export const SUBSCRIBER_URL = 'https://subscriber.test/hook';

/** `subscriber`: as the API names its destination. `auth`: the stored credentials of a webhook. */
export const aSubscription = ({
  subscriber = SUBSCRIBER_URL,
  auth,
  ...overrides
}: Partial<Subscription> & { subscriber?: string; auth?: StoredAuth } = {}): Subscription => ({
  id: 'subscription-1',
  queue: 'orders',
  destination: withAuth(parseDestination(subscriber), auth),
  options: {},
  createdAt: 0,
  ...overrides,
});

export const anOAuth2Auth = (overrides: Partial<OAuth2Auth> = {}): OAuth2Auth => ({
  type: 'oauth2_client_credentials',
  token_url: 'https://login.example/token',
  client_id: 'posthaste',
  client_secret: 'open sesame',
  ...overrides,
});

/** The request of a message to a subscription, rendered as deliver renders it. */
export const requestFor = async (
  message: Message,
  subscription: Subscription,
  attempt: Parameters<typeof webhookRequest>[3],
): Promise<WebhookRequest> => {
  const payload = await render(message, subscription);
  if (payload.kind === 'unrendered') throw new Error(payload.detail);
  return webhookRequest(message, payload, subscription, attempt);
};
