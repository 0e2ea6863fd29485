import type { PortalKey, PortalLink, PortalSession } from '../domain/portal/session.ts';

/** `ended`: it has expired, was ended, or never was. */
export type CountedRequest = { kind: 'counted'; session: PortalSession } | { kind: 'ended' | 'too_many' };

/** Links to the portal and the sessions that they become. Strongly consistent. Times are milliseconds since the epoch. */
export interface PortalSessions {
  addLink(link: PortalLink): Promise<void>;
  /** Turns a link into a session, once. Undefined: its token is another, or it was used, has expired or was ended. */
  openLink(
    key: PortalKey,
    tokenHash: string,
    opened: { tokenHash: string; now: number; expiresAt: number },
  ): Promise<PortalSession | undefined>;
  /** Undefined also for a link that was not opened. */
  findSession(key: PortalKey, now: number): Promise<PortalSession | undefined>;
  /** Counts a request of a session in the minute of `now`, in one write that also checks that it has not ended. @throws ContendedError */
  countRequest(key: PortalKey, limit: { now: number; perMinute: number }): Promise<CountedRequest>;
  /** Ends all links and sessions of an id, also one that is just being opened. */
  endSessions(queue: string, sessionId: string): Promise<void>;
}
