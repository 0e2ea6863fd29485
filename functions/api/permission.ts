import { RefusedRequest } from './errors.ts';

/** What a token must allow: reading, publishing, changing, or reading the credentials of subscribers. */
export type Permission = 'read' | 'publish' | 'manage' | 'credentials';

/** How tokens express permissions. With IAM authorisation both are undefined, because policies decide. */
export type TokenRules = {
  /** The scope for each permission. @default every token has all of them */
  jwtScopes: Readonly<Record<Permission, string>> | undefined;
  /** The claim that names the queues of a token. @default every token has all of them */
  jwtQueuesClaim: string | undefined;
};

/** The claims of a token as API Gateway passes them on: a list is text in brackets, separated by spaces. */
export type Claims = Readonly<Record<string, string>>;

/** Means all queues in a token's claim. */
const EVERY_QUEUE = '*';

/** Claims that hold scopes: `scope` (RFC 8693 §4.2), and `scp` of Microsoft Entra and Okta. */
const SCOPE_CLAIMS = ['scope', 'scp'];

/**
 * Checks that a token allows a request. `queue`: the one in the request's path; undefined: all of them.
 * @throws RefusedRequest `forbidden`, also where there are rules but the request has no token
 */
export function checkToken(
  { jwtScopes, jwtQueuesClaim }: TokenRules,
  claims: Claims = {},
  { permission, queue = EVERY_QUEUE }: { permission: Permission; queue?: string | undefined },
): void {
  if (jwtScopes !== undefined) checkScope(claims, jwtScopes[permission]);
  if (jwtQueuesClaim !== undefined) checkQueue(claims, jwtQueuesClaim, queue);
}

function checkScope(claims: Claims, needed: string): void {
  const scopes = SCOPE_CLAIMS.flatMap((name) => parseWords(claims[name]));
  if (!scopes.includes(needed)) throw new RefusedRequest('forbidden', `the token lacks the scope ${needed}`);
}

function checkQueue(claims: Claims, claim: string, queue: string): void {
  const queues = parseWords(claims[claim]);
  if (queues.includes(queue) || queues.includes(EVERY_QUEUE)) return;
  const named = queue === EVERY_QUEUE ? `all queues (${EVERY_QUEUE})` : 'this queue';
  throw new RefusedRequest('forbidden', `the claim ${claim} of the token does not name ${named}`);
}

function parseWords(claim = ''): string[] {
  return claim
    .replace(/^\[(?<list>.*)\]$/, '$<list>')
    .split(/[\s,]+/)
    .filter((word) => word !== '');
}
