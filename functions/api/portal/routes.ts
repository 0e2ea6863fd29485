import * as z from 'zod';
import {
  findIncarnation,
  isSessionId,
  LINK_SECONDS,
  makePortalToken,
  makeSessionId,
  makeSessionName,
  MAX_PORTAL_TOKEN,
  parsePortalToken,
  pickSessionId,
  type PortalSession,
  SESSION_ID_RULE,
  SESSION_SECONDS,
} from '../../../shared/domain/portal/session.ts';
import { CAPABILITIES } from '../../../shared/domain/portal/vocabulary.ts';
import { hashToken, isTokenOf } from '../../../shared/domain/subscription/confirmation.ts';
import { jsonOrUndefined } from '../../../shared/domain/json.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { portalLinkSchema, portalSessionSchema } from '../../../shared/wire/views/portal.ts';
import type { ApiDependencies, PortalSettings } from '../dependencies.ts';
import { errorSchema, notFound, RefusedRequest } from '../errors.ts';
import { presentQueue } from '../existing.ts';
import { seconds } from '../fields.ts';
import { eventTypes } from '../subscriptions/options.ts';
import { type AddRoute, json, jsonAnswer, jsonBody, noBody } from '../route.ts';
import { namePrincipal, noSession, requireCurrent } from './session.ts';

const sessionId = z.string().refine(isSessionId, `must be ${SESSION_ID_RULE}`);

const linkRequest = z.strictObject({
  capabilities: z
    .array(z.enum(CAPABILITIES, `must be among ${CAPABILITIES.join(', ')}`))
    .overwrite((given) => [...new Set(given)])
    .describe('What the customer may do besides seeing endpoints, their health, event types and charts.'),
  event_types: eventTypes
    .describe('The event types that endpoints may choose. By default all.')
    .exactOptional(),
  expires_in: seconds(LINK_SECONDS.least, LINK_SECONDS.most)
    .describe('Seconds until which the link must be opened. The session lasts 8 hours from then on.')
    .default(LINK_SECONDS.default),
  session_id: sessionId
    .describe('Names the sessions of this link, to end them and in the audit trail. By default a random one.')
    .exactOptional(),
});

const openRequest = z.strictObject({ token: z.string() });

const unauthorizedAnswer = json('The link or session is not valid, was used, or has ended.', errorSchema);

/** The routes that make, open and end links to the portal. */
export function addPortalRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit, clock, portalSessions, randomBytes } = dependencies;
  const { portal } = dependencies.settings;

  addRoute({
    key: 'POST /v2/queues/{queue}/portal-links',
    id: 'createPortalLink',
    summary: 'Makes a link to the page of a customer, who manages the endpoints of this queue',
    body: jsonBody(linkRequest),
    answers: { 201: json('The link. No later response contains it.', portalLinkSchema) },
    handle: async ({ params, body: asked, caller, publicUrl }) => {
      const queue = await presentQueue(dependencies, params.queue);
      requirePortal(portal);
      const { session_id: id = makeSessionId(randomBytes), capabilities, event_types: eventTypes } = asked;
      const key = { queue: queue.name, name: makeSessionName(id, randomBytes) };
      const { token, tokenHash } = makePortalToken('link', key, randomBytes);
      const expiresAt = clock.now() + asked.expires_in * 1000;
      const rights = { capabilities, ...(eventTypes && { eventTypes }) };
      const incarnation = findIncarnation(queue);
      await portalSessions.addLink({ state: 'link', ...key, ...rights, incarnation, tokenHash, expiresAt });
      audit(caller, {
        change: 'portal_link_created',
        queue: queue.name,
        sessionId: id,
        ...rights,
      });
      const answer: z.input<typeof portalLinkSchema> = {
        // In the fragment, which browsers do not send.
        url: `${publicUrl}/portal/#${token}`,
        session_id: id,
        expires_at: timeText(expiresAt),
      };
      return jsonAnswer(answer, 201, NOT_STORED);
    },
  });

  addRoute({
    key: 'DELETE /v2/queues/{queue}/portal-links/{session}',
    id: 'endPortalSessions',
    summary: 'Ends all links and sessions of a session id at once',
    answers: { 204: noBody('They are ended, or did not exist.') },
    handle: async ({ params: { queue, session: id }, caller }) => {
      requirePortal(portal);
      if (!isSessionId(id)) throw notFound('such session');
      await portalSessions.endSessions(queue, id);
      audit(caller, { change: 'portal_sessions_ended', queue, sessionId: id });
      return { status: 204 };
    },
  });

  // Open to every caller, so each refusal is the same: it does not tell which queues and sessions exist.
  addRoute({
    key: 'POST /v2/portal/session',
    id: 'openPortalLink',
    summary: 'Opens a link: exchanges its token for a session',
    description: 'A link can be opened once. Needs no authorisation.',
    body: jsonBody(openRequest),
    answers: { 200: json('The session.', portalSessionSchema), 401: unauthorizedAnswer },
    refuses: [],
    open: true,
    handle: async (context) => {
      const given = readToken(context.raw.body);
      const key = given === undefined ? undefined : parsePortalToken('link', given);
      if (portal === undefined || given === undefined || key === undefined) throw noSession();
      const { token, tokenHash } = makePortalToken('session', key, randomBytes);
      const now = clock.now();
      const expiresAt = now + SESSION_SECONDS * 1000;
      const opened = { tokenHash, now, expiresAt };
      const found = await portalSessions.openLink(key, hashToken(given), opened);
      const { session } = await requireCurrent(dependencies, found);
      audit(
        { ...context.caller, principal: namePrincipal(session) },
        { change: 'portal_link_opened', queue: key.queue, sessionId: pickSessionId(key.name) },
      );
      return jsonAnswer({ session: token, ...toSessionView(session, portal) }, 200, NOT_STORED);
    },
  });

  addRoute({
    key: 'GET /v2/portal/session',
    id: 'getPortalSession',
    summary: 'Shows what a session may do',
    description: 'Authorised by `authorization: Bearer` and the session.',
    answers: { 200: json('The session.', portalSessionSchema), 401: unauthorizedAnswer },
    refuses: [],
    open: true,
    handle: async (context) => {
      const [, token = ''] = /^bearer (\S{1,256})$/i.exec(context.headers.authorization ?? '') ?? [];
      const key = parsePortalToken('session', token);
      if (portal === undefined || key === undefined) throw noSession();
      const found = await portalSessions.findSession(key, clock.now());
      if (found === undefined || !isTokenOf(found, token)) throw noSession();
      const { session } = await requireCurrent(dependencies, found);
      return jsonAnswer(toSessionView(session, portal), 200, NOT_STORED);
    },
  });
}

const NOT_STORED = { 'cache-control': 'no-store' };

/** @throws RefusedRequest `conflict` */
function requirePortal(portal: PortalSettings | undefined): asserts portal is PortalSettings {
  if (portal === undefined)
    throw new RefusedRequest('conflict', 'this deployment has no portal; deploy it with the setting portal');
}

/** Undefined also for a long body: a stranger's can have 1 MiB. */
function readToken(body: Uint8Array): string | undefined {
  if (body.byteLength > 2 * MAX_PORTAL_TOKEN) return undefined;
  return openRequest.safeParse(jsonOrUndefined(Buffer.from(body).toString())).data?.token;
}

function toSessionView(
  { queue, name, capabilities, eventTypes, expiresAt }: PortalSession,
  { title, accent, limits, responseBodies }: PortalSettings,
): z.input<typeof portalSessionSchema> {
  const { endpoints, hosts, perSecond } = limits;
  return {
    session_name: name,
    queue,
    capabilities: [...capabilities],
    ...(eventTypes && { event_types: [...eventTypes] }),
    expires_at: timeText(expiresAt),
    title,
    ...(accent !== undefined && { accent }),
    limits: {
      endpoints,
      ...(hosts && { hosts: [...hosts] }),
      ...(perSecond !== undefined && { per_second: perSecond }),
    },
    response_bodies: responseBodies,
  };
}
