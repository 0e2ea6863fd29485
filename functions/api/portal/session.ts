import type { PortalRoute } from '../../../shared/config/portal-routes.ts';
import { findIncarnation, pickSessionId, type PortalSession } from '../../../shared/domain/portal/session.ts';
import type { Queue } from '../../../shared/domain/subscription/subscription.ts';
import type { ApiDependencies, PortalSettings } from '../dependencies.ts';
import { RefusedRequest } from '../errors.ts';

/** A request that the gate let in. `rest`: its path below the queue. */
export type Admission = {
  session: PortalSession;
  queue: Queue;
  route: PortalRoute;
  rest: string;
  params: Readonly<Record<string, string>>;
  portal: PortalSettings;
};

export function noSession(): RefusedRequest {
  return new RefusedRequest('unauthorized', 'the link or session is not valid, was used, or has ended');
}

/**
 * A session with its queue, unless that was deleted since the link was made, even if it was made again or restored.
 * @throws RefusedRequest `unauthorized`
 */
export async function requireCurrent(
  { registry }: Pick<ApiDependencies, 'registry'>,
  session: PortalSession | undefined,
): Promise<{ session: PortalSession; queue: Queue }> {
  const queue = session && (await registry.findQueue(session.queue));
  if (session === undefined || queue === undefined || findIncarnation(queue) !== session.incarnation)
    throw noSession();
  return { session, queue };
}

/** A session in the audit trail. */
export function namePrincipal({ name }: PortalSession): string {
  return `portal:${pickSessionId(name)}`;
}
