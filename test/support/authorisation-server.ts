import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer } from 'node:https';
import Provider from 'oidc-provider';
import { closeServer, listen } from './listening.ts';

const HOST = '127.0.0.1';
const LIFETIME_SECONDS = 600;

/** Algorithms of signed client assertions. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const;

/** A client that may ask for tokens of the scope `webhooks`. `publicKeys`: by name. */
type Client = { id: string } & (
  | { secret: string }
  | { publicKeys: Readonly<Record<string, KeyObject>>; algorithm: (typeof ALGORITHMS)[number] }
);

export type AuthorisationServer = Awaited<ReturnType<typeof startAuthorisationServer>>;

/** A certified OAuth 2 server on loopback. It checks secrets and signed assertions of its clients. */
export const startAuthorisationServer = async (
  tls: { cert: string; key: string },
  clients: readonly Client[],
) => {
  let requests = 0;
  const server = createServer(tls);
  const issuer = `https://${HOST}:${await listen(server, HOST)}`;
  const provider = new Provider(issuer, {
    clients: clients.map(metadataOf),
    adapter: Records,
    jwks: { keys: [generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })] },
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    scopes: ['webhooks', 'administration'],
    clientAuthMethods: ['client_secret_basic', 'private_key_jwt'],
    enabledJWA: { clientAuthSigningAlgValues: ALGORITHMS },
    ttl: { ClientCredentials: LIFETIME_SECONDS },
  });
  server.on('request', () => (requests += 1)).on('request', provider.callback());
  return {
    issuer,
    tokenUrl: `${issuer}/token`,
    /** Number of requests so far. */
    requests: () => requests,
    /** What was issued, if the token is valid. */
    issued: (token: string) => provider.ClientCredentials.find(token),
    close: () => closeServer(server),
  };
};

const metadataOf = (client: Client) => ({
  client_id: client.id,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
  scope: 'webhooks',
  id_token_signed_response_alg: 'ES256',
  ...('secret' in client
    ? { client_secret: client.secret, token_endpoint_auth_method: 'client_secret_basic' }
    : {
        jwks: {
          keys: Object.entries(client.publicKeys).map(([kid, key]) => ({
            ...key.export({ format: 'jwk' }),
            kid,
          })),
        },
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: client.algorithm,
      }),
});

/** The server's store. It makes one for each kind of record. */
class Records {
  readonly #records = new Map<string, unknown>();

  upsert(id: string, record: unknown): Promise<void> {
    this.#records.set(id, record);
    return Promise.resolve();
  }

  find(id: string): Promise<unknown> {
    return Promise.resolve(this.#records.get(id));
  }
}
