import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { PortalLink } from '../../shared/domain/portal/session.ts';
import type { PortalSessions } from '../../shared/ports/portal-sessions.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Contract of links and sessions: a link is opened once, and what has ended is not used. */
export const describePortalSessionsContract = (name: string, make: () => PortalSessions): void => {
  describe(`portal sessions ${name}`, () => {
    let sessions: PortalSessions;
    let queue: string;
    beforeEach(() => {
      sessions = make();
      queue = randomUUID();
    });

    const aLink = (more: Partial<PortalLink> = {}): PortalLink => ({
      state: 'link',
      queue,
      name: 'customer.one',
      incarnation: 1,
      capabilities: ['manage'],
      eventTypes: ['order.paid'],
      tokenHash: 'link-hash',
      expiresAt: SOME_TIME + HOUR,
      ...more,
    });
    const opened = { tokenHash: 'session-hash', now: SOME_TIME, expiresAt: SOME_TIME + 2 * HOUR };
    const open = (link: PortalLink, more: Partial<typeof opened> = {}, hash = link.tokenHash) =>
      sessions.openLink(link, hash, { ...opened, ...more });
    const openedLink = async (more: Partial<PortalLink> = {}): Promise<PortalLink> => {
      const link = aLink(more);
      await sessions.addLink(link);
      await open(link);
      return link;
    };

    it('turn a link into a session with its rights', async () => {
      const link = aLink();
      await sessions.addLink(link);
      expect(await sessions.findSession(link, SOME_TIME)).toBeUndefined();
      const { now: _, ...session } = { ...link, ...opened, state: 'session' as const };
      expect(await open(link)).toEqual(session);
      expect(await sessions.findSession(link, SOME_TIME)).toEqual(session);
    });

    it('open a link once, also for two callers at the same time', async () => {
      const link = aLink();
      await sessions.addLink(link);
      const both = await Promise.all([open(link), open(link, { tokenHash: 'another-hash' })]);
      expect(both.filter((one) => one !== undefined)).toHaveLength(1);
      const third = { tokenHash: 'third-hash' };
      expect(await open(link, third)).toBeUndefined();
      expect(await open(link, third, opened.tokenHash)).toBeUndefined();
    });

    it('open no link by another token, of another queue, or from its end on', async () => {
      const link = aLink();
      await sessions.addLink(link);
      expect(await open(link, {}, 'other-hash')).toBeUndefined();
      expect(await open({ ...link, queue: randomUUID() })).toBeUndefined();
      expect(await open({ ...link, name: 'customer.two' })).toBeUndefined();
      expect(await open(link, { now: link.expiresAt })).toBeUndefined();
      expect(await open(link, { now: link.expiresAt - 1 })).toBeDefined();
    });

    it('count the requests of a session in each minute, up to the limit', async () => {
      const link = await openedLink();
      const count = (now: number) => sessions.countRequest(link, { now, perMinute: 2 });
      const start = Math.ceil(SOME_TIME / MINUTE) * MINUTE;
      expect(await count(start)).toMatchObject({ kind: 'counted', session: { capabilities: ['manage'] } });
      expect(await count(start + MINUTE - 1)).toMatchObject({ kind: 'counted' });
      expect(await count(start + MINUTE - 1)).toEqual({ kind: 'too_many' });
      expect(await count(start + MINUTE)).toMatchObject({ kind: 'counted' });
      // By a clock that is behind: in the current minute.
      expect(await count(start)).toMatchObject({ kind: 'counted' });
      expect(await count(start)).toEqual({ kind: 'too_many' });
    });

    it('count no more than the limit of concurrent requests, also of the first in a minute', async () => {
      const link = await openedLink();
      const counted = await Promise.all(
        Array.from({ length: 3 }, () => sessions.countRequest(link, { now: SOME_TIME, perMinute: 2 })),
      );
      expect(counted.filter(({ kind }) => kind === 'counted')).toHaveLength(2);
    });

    it('count nothing for a link, an unknown session, and from the end of a session on', async () => {
      const link = aLink({ name: 'customer.unopened' });
      await sessions.addLink(link);
      const session = await openedLink();
      const count = (key: { queue: string; name: string }, now = SOME_TIME) =>
        sessions.countRequest(key, { now, perMinute: 9 });
      expect(await count(link)).toEqual({ kind: 'ended' });
      expect(await count({ queue, name: 'customer.unknown' })).toEqual({ kind: 'ended' });
      expect(await count(session, opened.expiresAt - 1)).toMatchObject({ kind: 'counted' });
      expect(await count(session, opened.expiresAt)).toEqual({ kind: 'ended' });
      expect(await sessions.findSession(session, opened.expiresAt)).toBeUndefined();
    });

    it('end all links and sessions of an id, and no others', async () => {
      const unopened = aLink({ name: 'customer.two' });
      await sessions.addLink(unopened);
      const session = await openedLink();
      const others = [
        await openedLink({ name: 'customer-2.one' }),
        await openedLink({ queue: randomUUID() }),
      ];
      await sessions.endSessions(queue, 'customer');
      await sessions.endSessions(queue, 'customer');
      expect(await open(unopened)).toBeUndefined();
      expect(await sessions.countRequest(session, { now: SOME_TIME, perMinute: 9 })).toEqual({
        kind: 'ended',
      });
      for (const other of others) expect(await sessions.findSession(other, SOME_TIME)).toBeDefined();
    });

    it('leave no session behind if a link is opened while its id is ended', async () => {
      for (let round = 0; round < 10; round += 1) {
        const link = aLink({ name: `customer.${round}` });
        await sessions.addLink(link);
        await Promise.all([open(link), sessions.endSessions(queue, 'customer')]);
        expect(await sessions.findSession(link, SOME_TIME)).toBeUndefined();
      }
    });
  });
};
