import { isQueueName } from '../../../shared/domain/message/message.ts';
import { findPortalRoute, parsePortalPath } from '../../../shared/config/portal-routes.ts';
import {
  findSessionName,
  type PortalKey,
  type PortalSession,
  REQUESTS_PER_MINUTE,
} from '../../../shared/domain/portal/session.ts';
import type { ApiDependencies, PortalSettings } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../errors.ts';
import type { Answer, ApiRequest } from '../route.ts';
import { toErrorAnswer } from '../serve.ts';
import { type Admission, noSession, requireCurrent } from './session.ts';

type Answering = (request: ApiRequest) => Promise<Answer>;

/** `answerAdmitted`: the same routes without a check of tokens. */
type Answers = { answer: Answering; answerAdmitted: Answering };

/**
 * The API with the gate of the portal. A caller with the role of portal sessions gets in by the gate only, and other callers
 * do not get in by the gate.
 */
export function withPortal(context: ApiDependencies, { answer, answerAdmitted }: Answers): Answering {
  const { portal } = context.settings;
  return async (request) => {
    const name = portal && findSessionName(request.callerArn, portal.roleArn);
    const isGate = request.path.startsWith(GATE);
    if (name === undefined && !isGate) return answer(request);
    try {
      if (portal === undefined || name === undefined || !isGate)
        throw new RefusedRequest(
          'forbidden',
          'only sessions of the portal may use this path, and no other path',
        );
      const admission = await admit(context, request, { portal, name });
      // On demand, so that producers do not wait for it after a cold start.
      const { answerSession } = await import('./answer-session.ts');
      return await answerSession(context, request, { admission, answerAdmitted });
    } catch (error) {
      return toErrorAnswer(error, request.caller, context.reportFault);
    }
  };
}

const GATE = '/v2/portal/queues/';

/** @throws RefusedRequest */
async function admit(
  context: ApiDependencies,
  { method, path }: ApiRequest,
  { portal, name }: { portal: PortalSettings; name: string },
): Promise<Admission> {
  const place = parsePortalPath(path);
  if (place === undefined || !isQueueName(place.queue)) throw noSession();
  const { session, queue } = await requireCurrent(
    context,
    await countRequest(context, { queue: place.queue, name }),
  );
  const found = findPortalRoute(method, place.rest);
  if (found === undefined) throw notFound('such route in the portal');
  const { right } = found.route;
  if (place.right !== right || (right !== 'see' && !session.capabilities.includes(right)))
    throw new RefusedRequest('forbidden', `the link of this session does not grant ${right}`);
  return { session, queue, portal, rest: place.rest, ...found };
}

async function countRequest(
  { portalSessions, clock }: ApiDependencies,
  key: PortalKey,
): Promise<PortalSession> {
  const limit = { now: clock.now(), perMinute: REQUESTS_PER_MINUTE };
  const counted = await portalSessions.countRequest(key, limit);
  switch (counted.kind) {
    case 'counted':
      return counted.session;
    case 'ended':
      throw noSession();
    case 'too_many': {
      const message = `a session may make ${REQUESTS_PER_MINUTE} requests in a minute; wait for the next one`;
      throw new RefusedRequest('too_many_requests', message);
    }
  }
}
