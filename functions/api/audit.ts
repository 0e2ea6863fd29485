import type { Logger } from '@aws-lambda-powertools/logger';

/** Who asks: an IAM ARN, a token's subject, or `anonymous` where the deployment authorises nobody. */
export type Caller = { principal: string; requestId: string };

/** What a request changed. Names and ids only: metadata, headers and messages may hold secrets. */
export type Change =
  | { change: 'queue_created' | 'queue_replaced' | 'queue_deleted'; queue: string }
  | { change: 'subscription_created' | 'subscription_deleted'; queue: string; subscriptionId: string }
  | { change: 'messages_posted'; queue: string; messageIds: readonly string[] };

export type Audit = (caller: Caller, change: Change) => void;

/** One log line for every change. */
export const auditLog =
  (logger: Logger): Audit =>
  (caller, change) => {
    logger.info('audit', { ...caller, ...change });
  };
