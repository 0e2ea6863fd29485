import { DAY_MS } from '../duration.ts';
import { findAuth } from './destination.ts';
import type { PendingEvent, Subscription } from './subscription.ts';

/** Days before its client certificate expires on which operators are warned, once each. */
const WARNING_DAYS = [30, 7, 1] as const;

/** `at`: of the `auth` that the warning is about. */
export type CertificateWarning = {
  kind: 'warn_of_certificate';
  at: number;
  days: number;
  unsent: PendingEvent;
  version?: number;
};

/** The warning that is due at `now`: the closest one, if several were missed for lack of traffic. */
export function certificateWarning(
  { destination, version }: Subscription,
  now: number,
): CertificateWarning | undefined {
  const auth = findAuth(destination);
  if (auth?.notAfter === undefined) return undefined;
  const { at, notAfter, warnedDays = Infinity } = auth;
  const days = WARNING_DAYS.findLast((left) => notAfter - now <= left * DAY_MS);
  if (days === undefined || days >= warnedDays) return undefined;
  const event = { type: 'subscription.certificate_expiring', expiresAt: notAfter, days } as const;
  return {
    kind: 'warn_of_certificate',
    at,
    days,
    unsent: { event, at: now },
    ...(version !== undefined && { version }),
  };
}

/** Whether the subscription still has this certificate, and no warning as close as this one was written. */
export function isWarningWanted({ destination }: Subscription, { at, days }: CertificateWarning): boolean {
  const auth = findAuth(destination);
  return auth?.at === at && (auth.warnedDays ?? Infinity) > days;
}
