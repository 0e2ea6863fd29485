import { createHash } from 'node:crypto';
import { AssumeRoleCommand, type STSClient } from '@aws-sdk/client-sts';
import { LRUCache } from 'lru-cache';
import { permittedPaths } from '../../config/portal-routes.ts';
import type {
  AdmittedSession,
  SessionCredentials,
  SignedSession,
  TemporaryKeys,
} from '../../ports/session-credentials.ts';

type Assuming = { sts: STSClient; roleArn: string; apiArn: string };

/** An hour is the most that a role can be assumed by another role ("Role chaining", IAM user guide). */
const DURATION_SECONDS = 3_600;

/** Credentials are replaced so long before they expire: longer than any request takes. */
const EARLY_MS = 300_000;

const MAX_SESSIONS = 1_000;

/** Credentials of sessions, kept while they are valid. `readSession`: asks the API what a session may do. */
export function createSessionCredentials(
  assuming: Assuming,
  readSession: (secret: string) => Promise<AdmittedSession | undefined>,
): SessionCredentials {
  const known = new LRUCache<string, Promise<SignedSession | undefined>>({
    max: MAX_SESSIONS,
    ttl: DURATION_SECONDS * 1000 - EARLY_MS,
  });
  const sign = async (secret: string): Promise<SignedSession | undefined> => {
    const session = await readSession(secret);
    if (session === undefined) return undefined;
    const { queue, rights } = session;
    return { queue, rights, keys: await assumeRole(assuming, session) };
  };
  return {
    find: async (secret) => {
      const key = keyFor(secret);
      // Concurrent requests of a page share one.
      const signing = known.get(key) ?? sign(secret);
      known.set(key, signing, { noUpdateTTL: true });
      try {
        const session = await signing;
        if (session === undefined) known.delete(key);
        return session;
      } catch (error) {
        known.delete(key);
        throw error;
      }
    },
    forget: (secret) => {
      known.delete(keyFor(secret));
    },
  };
}

/** Keeps no secret in memory for longer than its request. */
function keyFor(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

async function assumeRole(
  { sts, roleArn, apiArn }: Assuming,
  { queue, name, rights }: AdmittedSession,
): Promise<TemporaryKeys> {
  const Resource = permittedPaths(queue, rights).map(({ method, path }) => `${apiArn}/${method}${path}`);
  const Statement = [{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource }];
  const { Credentials: given } = await sts.send(
    new AssumeRoleCommand({
      RoleArn: roleArn,
      RoleSessionName: name,
      DurationSeconds: DURATION_SECONDS,
      Policy: JSON.stringify({ Version: '2012-10-17', Statement }),
    }),
  );
  const { AccessKeyId, SecretAccessKey, SessionToken } = given ?? {};
  if (AccessKeyId === undefined || SecretAccessKey === undefined || SessionToken === undefined)
    throw new Error('STS answered without credentials.');
  return { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken };
}
