import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import { Problem } from '../../local/install/problem.mjs';
import { type Deployment, type DeploymentChoice, findDeployment } from '../deployment.ts';
import { failureText } from '../failure-text.ts';

export type ApiCall = {
  method: string;
  url: string;
  headers: Headers;
  body?: string | Uint8Array<ArrayBuffer>;
};

/** The administration API of a deployment, and how a call proves who makes it. */
export type ApiAccess = {
  /** For people. */
  name: string;
  /** Without a slash at its end. */
  apiUrl: string;
  /** Of the signature; a bearer token has none. */
  region?: string;
  isLocal: boolean;
  /** Adds what proves it. @throws CredentialsProblem without valid credentials */
  authorize: (call: ApiCall) => Promise<Headers>;
};

type Credentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
};

type Identity = {
  region: string;
  credentials: () => Promise<Credentials>;
};

/**
 * `POSTHASTE_API_URL` is for an API behind a name of its own: nothing is looked up in CloudFormation then.
 * @throws Problem with what to do, when there is no deployment.
 */
export async function findApi(choice: DeploymentChoice, env: NodeJS.ProcessEnv): Promise<ApiAccess> {
  const given = env['POSTHASTE_API_URL'];
  if (given === undefined || given === '' || choice.local === true) {
    return apiOf(await findDeployment(choice), env);
  }
  return accessTo({ name: given, apiUrl: checkedUrl(given), client: {} }, env);
}

/** The API of a deployment that was found already. */
export function apiOf({ name, apiUrl, client }: Deployment, env: NodeJS.ProcessEnv): Promise<ApiAccess> {
  const given = client.endpoint === undefined ? env['POSTHASTE_API_URL'] : undefined;
  return accessTo(
    { name, apiUrl: given === undefined || given === '' ? apiUrl : checkedUrl(given), client },
    env,
  );
}

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new Problem(`POSTHASTE_API_URL takes an http or https URL without a query, not "${text}".`);
  }
  return text;
}

async function accessTo(
  { name, apiUrl, client }: Pick<Deployment, 'name' | 'apiUrl' | 'client'>,
  env: NodeJS.ProcessEnv,
): Promise<ApiAccess> {
  return {
    name,
    apiUrl: apiUrl.replace(/\/+$/, ''),
    isLocal: client.endpoint !== undefined,
    ...(await proofFor(client, env)),
  };
}

/** A token where there is one (`apiAuthorization: jwt`), else Signature Version 4. */
async function proofFor(
  client: Deployment['client'],
  env: NodeJS.ProcessEnv,
): Promise<Pick<ApiAccess, 'authorize' | 'region'>> {
  const token = env['POSTHASTE_TOKEN'];
  return token === undefined || token === ''
    ? signing(await identityOf(client))
    : { authorize: ({ headers }) => Promise.resolve(withToken(headers, token)) };
}

function withToken(headers: Headers, token: string): Headers {
  const authorized = new Headers(headers);
  authorized.set('authorization', `Bearer ${token}`);
  return authorized;
}

function signing({ region, credentials }: Identity): Required<Pick<ApiAccess, 'authorize' | 'region'>> {
  const signer = new SignatureV4({
    service: 'execute-api',
    region,
    credentials: async () => notExpired(await credentials()),
    sha256: Sha256,
    applyChecksum: false,
  });
  return {
    region,
    authorize: async (call) => {
      const { headers } = await signer.sign(requestOf(call));
      const authorized = new Headers(headers);
      // Set by whatever sends the request.
      authorized.delete('host');
      return authorized;
    },
  };
}

/** A call as the signer takes it. */
function requestOf({ method, url, headers, body }: ApiCall): HttpRequest {
  const { protocol, hostname, port, host, pathname, searchParams } = new URL(url);
  return new HttpRequest({
    method,
    protocol,
    hostname,
    ...(port === '' ? {} : { port: Number(port) }),
    path: pathname,
    query: Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)])),
    headers: { ...Object.fromEntries(headers), host },
    body,
  });
}

function notExpired(credentials: Credentials): Credentials {
  const { expiration } = credentials;
  if (expiration === undefined || expiration.getTime() > Date.now()) return credentials;
  const since = expiration.toISOString();
  throw new CredentialsProblem(
    'credentials_expired',
    `Your AWS credentials have expired at ${since}. ${RENEW}`,
  );
}

const RENEW = 'Renew them the way you got them, for instance by aws sso login.';

async function identityOf({ region, credentials }: Deployment['client']): Promise<Identity> {
  if (region !== undefined && credentials !== undefined) {
    return { region, credentials: () => Promise.resolve(credentials) };
  }
  // Any of the SDK's clients finds both the way the AWS CLI does; this one is there already.
  const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
  const { config } = new CloudFormation();
  const found = await config.region().catch((cause: unknown) => {
    throw new Problem(`No AWS region is known: ${failureText(cause)}. Set AWS_REGION or AWS_PROFILE.`, {
      cause,
    });
  });
  return {
    region: found,
    credentials: () =>
      config.credentials().catch((cause: unknown) => {
        throw withoutCredentials(cause);
      }),
  };
}

/** The SDK says only in its sentences that a session, as of SSO, is over. */
function withoutCredentials(cause: unknown): CredentialsProblem {
  const text = failureText(cause);
  return /expired/i.test(text)
    ? new CredentialsProblem('credentials_expired', `Your AWS credentials have expired: ${text}. ${RENEW}`, {
        cause,
      })
    : new CredentialsProblem(
        'no_credentials',
        `No AWS credentials are at hand: ${text}. They come from the environment, as for the AWS CLI; ` +
          'where the API takes tokens instead, set POSTHASTE_TOKEN.',
        { cause },
      );
}

/** Nothing can be signed: there are no credentials, or their time is over. */
export class CredentialsProblem extends Problem {
  readonly code: 'no_credentials' | 'credentials_expired';

  constructor(code: CredentialsProblem['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
