import type { PortalAccess, PortalKey, PortalSession } from '../../../shared/domain/portal/session.ts';
import type { PortalSessions } from '../../../shared/ports/portal-sessions.ts';
import { answer, frozen } from './frozen.ts';

export const inMemoryPortalSessions = (): PortalSessions & { stored: Map<string, PortalAccess> } => {
  const stored = new Map<string, PortalAccess>();
  const counts = new Map<string, { minute: number; requests: number }>();
  const idOf = ({ queue, name }: PortalKey) => `${queue}/${name}`;
  const find = (key: PortalKey, now: number): PortalSession | undefined => {
    const found = stored.get(idOf(key));
    return found?.state === 'session' && found.expiresAt > now ? found : undefined;
  };
  return {
    stored,
    addLink: (link) => {
      stored.set(idOf(link), frozen(link));
      return answer(undefined);
    },
    openLink: (key, linkHash, { tokenHash, now, expiresAt }) => {
      const link = stored.get(idOf(key));
      if (link?.state !== 'link' || link.tokenHash !== linkHash || link.expiresAt <= now)
        return answer(undefined);
      stored.set(idOf(key), frozen({ ...link, state: 'session', tokenHash, expiresAt }));
      return answer(find(key, now));
    },
    findSession: (key, now) => answer(find(key, now)),
    countRequest: (key, { now, perMinute }) => {
      const session = find(key, now);
      if (session === undefined) return answer({ kind: 'ended' });
      const minute = Math.floor(now / 60_000);
      const before = counts.get(idOf(key)) ?? { minute: 0, requests: 0 };
      const current = before.minute >= minute ? before : { minute, requests: 0 };
      if (current.requests >= perMinute) return answer({ kind: 'too_many' });
      counts.set(idOf(key), { ...current, requests: current.requests + 1 });
      return answer({ kind: 'counted', session });
    },
    endSessions: (queue, sessionId) => {
      for (const [id, { name, queue: of }] of stored)
        if (of === queue && name.startsWith(`${sessionId}.`)) stored.delete(id);
      return answer(undefined);
    },
  };
};
