import type { Logger } from '@aws-lambda-powertools/logger';
import type { Difference, QueueDigest, SubscriptionDigest } from './audit-digest.ts';
import type { SigningScheme } from '../../shared/domain/subscription/signing-secret.ts';

/** Who asks: an IAM ARN, a token's subject, or `anonymous` where the deployment authorises nobody. */
export type Caller = { principal: string; requestId: string };

/** What a request changed, before and after. Never a value that may be secret: of those it says which ones changed. */
export type Change =
  | { change: 'queue_created'; queue: string; after: QueueDigest }
  | ({ change: 'queue_replaced' | 'queue_changed'; queue: string } & Difference<QueueDigest>)
  | { change: 'queue_deleted'; queue: string }
  | {
      change: 'subscription_created' | 'subscription_imported';
      queue: string;
      subscriptionId: string;
      after: SubscriptionDigest;
    }
  | ({
      change: 'subscription_changed' | 'subscription_enabled' | 'subscription_disabled';
      queue: string;
      subscriptionId: string;
    } & Difference<SubscriptionDigest>)
  | { change: 'subscription_confirmed'; queue: string; subscriptionId: string }
  | { change: 'subscription_deleted'; queue: string; subscriptionId: string; before: SubscriptionDigest }
  | {
      change: 'secret_rotated';
      queue: string;
      subscriptionId: string;
      scheme: SigningScheme;
      /** Until when the one before is in force; RFC 3339. */
      previousExpiresAt?: string;
    }
  /** Of so many subscriptions; each part of a long export has its line. */
  | { change: 'credentials_exported'; queue: string; subscriptions: number }
  | { change: 'subscription_tested'; queue: string; subscriptionId: string; messageId: string }
  | { change: 'messages_posted'; queue: string; messageIds: readonly string[] }
  | {
      change: 'delivery_retried';
      queue: string;
      messageId: string;
      subscriptionId: string;
      round: number;
    }
  | { change: 'delivery_cancelled'; queue: string; messageId: string; subscriptionId: string }
  | { change: 'body_erased'; queue: string; messageId: string }
  | {
      change: 'recovery_started';
      queue: string;
      recoveryId: string;
      selection: { since: string; until: string; subscription?: string; status?: string };
    }
  | { change: 'recovery_stopped'; queue: string; recoveryId: string };

export type Audit = (caller: Caller, change: Change) => void;

/** One log line for every change. */
export function auditLog(logger: Logger): Audit {
  return (caller, change) => {
    logger.info('audit', { ...caller, ...change });
  };
}
