import type { CertificateWarning } from '../../../shared/domain/subscription/certificate-warning.ts';
import { type Destination, findAuth, withAuth } from '../../../shared/domain/subscription/destination.ts';
import type { HealthChange } from '../../../shared/domain/subscription/health.ts';
import type { PendingEvent, Subscription } from '../../../shared/domain/subscription/subscription.ts';

/** What each health write makes of a subscription: the adapters' contract compares each store with it. */

/** The subscription after a successful health write. */
export function applyHealthChange(change: HealthChange, subscription: Subscription): Subscription {
  const { failing, unsent, ...rest } = subscription;
  switch (change.kind) {
    case 'pressure':
      return { ...subscription, pressure: change.pressure, ...pendingEventField(change.unsent ?? unsent) };
    case 'warn_of_certificate':
      return {
        ...subscription,
        destination: withWarning(subscription.destination, change),
        unsent: change.unsent,
      };
    case 'begin':
      return { ...subscription, failing: change.failing };
    case 'count':
      return { ...subscription, failing: change.failing, ...pendingEventField(change.unsent ?? unsent) };
    case 'recover':
      return { ...rest, ...pendingEventField(change.unsent ?? unsent) };
    case 'disable':
      return { ...subscription, disabled: change.disabled, ...pendingEventField(change.unsent) };
    case 'sent':
      return { ...rest, ...(failing === undefined ? {} : { failing }) };
  }
}

function pendingEventField(unsent: PendingEvent | undefined): { unsent?: PendingEvent } {
  return unsent === undefined ? {} : { unsent };
}

/** The destination after the warning: no later one is as close. */
function withWarning(destination: Destination, { days }: CertificateWarning): Destination {
  const auth = findAuth(destination);
  return auth === undefined ? destination : withAuth(destination, { ...auth, warnedDays: days });
}
