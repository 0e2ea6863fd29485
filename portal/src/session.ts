import * as z from 'zod';
import { answerTo, TIMEOUT_MS } from '../../console/src/api/page-requests.ts';
import { parsedAnswer } from '../../api-client/api-client.ts';
import { ApiRefusal } from '../../api-client/refusal.ts';
import { CAPABILITIES } from '../../shared/domain/portal/vocabulary.ts';
import { pageSessionSchema, SESSION_HEADER } from '../../shared/wire/views/portal.ts';

const KEY = 'posthaste-portal-session';

const capability = z.enum(CAPABILITIES);

/** What the link grants, and how the deployment wants the page to look. */
export const sessionSchema = pageSessionSchema
  .omit({ session: true, session_name: true, expires_at: true })
  .extend({
    /** Those of a newer version are left out. */
    capabilities: z
      .array(z.string())
      .transform((names) => names.flatMap((name) => capability.safeParse(name).data ?? [])),
    /** #rrggbb */
    accent: z
      .string()
      .regex(/^#[0-9a-f]{6}$/i)
      .exactOptional(),
  });
export type PortalSession = z.infer<typeof sessionSchema>;

/** Why there is no session: the link was refused, the session ended, or the page was opened without a link. */
export type Ending = 'link_refused' | 'session_ended' | 'no_link';

export class NoSession extends Error {
  override readonly name = 'NoSession';
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(ending);
    this.ending = ending;
  }
}

/**
 * The token behind the `#` of the link, a part that browsers send to no server. It leaves the address at once. Undefined
 * for an address of a page, which begins with a slash.
 */
export function takeLinkToken({
  location,
  history,
}: {
  location: Pick<Location, 'hash' | 'pathname'>;
  history: Pick<History, 'replaceState'>;
}): string | undefined {
  const token = location.hash.replace(/^#/, '');
  if (token === '' || token.startsWith('/')) return undefined;
  history.replaceState(null, '', `${location.pathname}#/`);
  return token;
}

/** `secret`: what `SESSION_HEADER` carries. */
export type OpenSession = { session: PortalSession; secret: string };

/**
 * Exchanges the token of the link for a session, or continues the session of this tab, which survives a reload in its
 * storage. A link replaces the session of the tab, also if it is refused: it can be of another customer.
 * @throws NoSession; NoResponse, ApiRefusal and UnknownAnswer if it can be repeated
 */
export async function openSession(
  token: string | undefined,
  storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>,
): Promise<OpenSession> {
  if (token !== undefined) {
    storage.removeItem(KEY);
    const opened = await ask('link_refused', exchangeSchema, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    });
    storage.setItem(KEY, opened.session);
    return { session: opened, secret: opened.session };
  }
  const secret = storage.getItem(KEY);
  if (secret === null) throw new NoSession('no_link');
  const headers = { [SESSION_HEADER]: secret };
  return { session: await ask('session_ended', sessionSchema, { method: 'GET', headers }), secret };
}

const exchangeSchema = sessionSchema.extend({ session: z.string() });

async function ask<Answer>(ending: Ending, schema: z.ZodType<Answer>, init: RequestInit): Promise<Answer> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await answerTo('session', { ...init, signal });
  if (answer.status === 401) throw new NoSession(ending);
  const request = { method: init.method ?? 'GET', path: 'session' };
  if (answer.status !== 200) throw new ApiRefusal(request.path, answer.status, answer.text);
  return parsedAnswer(answer, request, schema);
}
