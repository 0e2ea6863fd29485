import * as z from 'zod';
import { REDACTED } from './credential-headers.ts';

/**
 * How requests authenticate at the subscriber (`options.auth`), as given by the user. Certificates and keys are PEM;
 * `ca`: authorities that are trusted for this subscriber besides the public ones.
 */
export const authSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('header'), name: z.string(), value: z.string() }),
  z.object({ type: z.literal('basic'), username: z.string(), password: z.string() }),
  z.object({
    type: z.literal('mtls'),
    certificate: z.string(),
    private_key: z.string(),
    ca: z.string().exactOptional(),
  }),
  z.object({
    type: z.literal('oauth2_client_credentials'),
    token_url: z.string(),
    client_id: z.string(),
    /** Exactly one of the two. */
    client_secret: z.string().exactOptional(),
    private_key: z.string().exactOptional(),
    scope: z.string().exactOptional(),
    audience: z.string().exactOptional(),
  }),
]);

export type Auth = z.infer<typeof authSchema>;
export type MtlsAuth = Extract<Auth, { type: 'mtls' }>;
export type OAuth2Auth = Extract<Auth, { type: 'oauth2_client_credentials' }>;

/**
 * On the record of a subscription. `shown`: without what is secret ('***'). `sealed`: all of it, sealed for this
 * subscription. `at`: when it last changed, unique per change. `notAfter`: when its certificate expires. Both in
 * milliseconds since the epoch.
 */
export type StoredAuth = { shown: Auth; sealed: string; at: number; notAfter?: number };

/** The same without what is secret. */
export function redactedAuth(auth: Auth): Auth {
  switch (auth.type) {
    case 'header':
      return { ...auth, value: REDACTED };
    case 'basic':
      return { ...auth, password: REDACTED };
    case 'mtls':
      return { ...auth, private_key: REDACTED };
    case 'oauth2_client_credentials':
      return {
        ...auth,
        ...(auth.client_secret !== undefined && { client_secret: REDACTED }),
        ...(auth.private_key !== undefined && { private_key: REDACTED }),
      };
  }
}
