import type { PortalRight } from '../domain/portal/vocabulary.ts';

/** What the API says of a session. `name`: the session name of the role. */
export type AdmittedSession = { queue: string; name: string; rights: readonly PortalRight[] };

export type TemporaryKeys = { accessKeyId: string; secretAccessKey: string; sessionToken: string };

/** A session, with the credentials of the role, which its policy limits to the queue and rights of the session. */
export type SignedSession = Pick<AdmittedSession, 'queue' | 'rights'> & { keys: TemporaryKeys };

export type SessionCredentials = {
  /** Undefined: the API does not know the session. */
  find: (secret: string) => Promise<SignedSession | undefined>;
  forget: (secret: string) => void;
};
