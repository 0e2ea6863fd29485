import * as z from 'zod';
import { jsonOrUndefined } from '../json.ts';
import { REDACTED } from './credential-headers.ts';

/** Authorities that are trusted in place of the public ones, for all connections of the subscription. */
const ca = z.string().exactOptional();

/** How requests authenticate at the subscriber (`options.auth`), as given by the user. Certificates and keys are PEM. */
export const authSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('header'), name: z.string(), value: z.string(), ca }),
  z.object({ type: z.literal('basic'), username: z.string(), password: z.string(), ca }),
  z.object({ type: z.literal('mtls'), certificate: z.string(), private_key: z.string(), ca }),
  z.object({
    type: z.literal('oauth2_client_credentials'),
    token_url: z.string(),
    client_id: z.string(),
    /** Exactly one of the two. */
    client_secret: z.string().exactOptional(),
    private_key: z.string().exactOptional(),
    /** What is said with a private key: its name, its certificate, and the audience if that is not `token_url`. */
    key_id: z.string().exactOptional(),
    certificate: z.string().exactOptional(),
    issuer: z.string().exactOptional(),
    scope: z.string().exactOptional(),
    audience: z.string().exactOptional(),
    ca,
  }),
]);

export type Auth = z.infer<typeof authSchema>;
export type AuthType = Auth['type'];
export type OAuth2Auth = Extract<Auth, { type: 'oauth2_client_credentials' }>;

/**
 * On the record of a subscription. `shown`: without what is secret ('***'). `sealed`: all of it, sealed for this
 * subscription. `at`: when it last changed, unique per change. `notAfter`: when its certificate expires. Both in
 * milliseconds since the epoch. `warnedDays`: the last warning of that.
 */
export const storedAuthSchema = z.object({
  shown: authSchema,
  sealed: z.string(),
  at: z.number(),
  notAfter: z.number().exactOptional(),
  warnedDays: z.number().exactOptional(),
});

export type StoredAuth = z.infer<typeof storedAuthSchema>;

/** The stored text; undefined if it is none. */
export function parseAuth(text: string): Auth | undefined {
  return authSchema.safeParse(jsonOrUndefined(text)).data;
}

/** The name of the header that carries the credentials, in lower case; undefined: none does. */
export function findHeaderName(auth: Auth): string | undefined {
  switch (auth.type) {
    case 'header':
      return auth.name.toLowerCase();
    case 'basic':
    case 'oauth2_client_credentials':
      return 'authorization';
    case 'mtls':
      return undefined;
  }
}

/** The fields that are sealed on the record and redacted for display. */
export const SECRET_FIELDS: Readonly<Record<AuthType, readonly string[]>> = {
  header: ['value'],
  basic: ['password'],
  mtls: ['private_key'],
  oauth2_client_credentials: ['client_secret', 'private_key'],
};

/** For display: values of secret fields are redacted. */
export function redactedAuth(auth: Auth): Auth {
  const secret = SECRET_FIELDS[auth.type];
  return authSchema.parse(
    Object.fromEntries(
      Object.entries(auth).map(([field, value]) => [field, secret.includes(field) ? REDACTED : value]),
    ),
  );
}

/** The secret fields that hold the placeholder of a stored value. */
export function redactedFields(auth: Auth): string[] {
  return Object.entries(auth).flatMap(([field, value]) =>
    value === REDACTED && SECRET_FIELDS[auth.type].includes(field) ? [field] : [],
  );
}
