import { AwsV4Signer } from 'aws4fetch';
import { findDeployment, type Deployment, type DeploymentChoice } from '../deployment.ts';
import { failureText } from '../failure-text.ts';
import { Problem } from '../local/install/problem.mjs';

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
  /** Adds what proves it. @throws Problem without credentials */
  authorize: (call: ApiCall) => Promise<Headers>;
};

type Identity = {
  region: string;
  credentials: () => Promise<{ accessKeyId: string; secretAccessKey: string; sessionToken?: string }>;
};

/**
 * `POSTHASTE_API_URL` is for an API behind a name of its own: nothing is looked up in CloudFormation then.
 * @throws Problem with what to do, when there is no deployment.
 */
export const findApi = async (choice: DeploymentChoice): Promise<ApiAccess> => {
  const given = process.env['POSTHASTE_API_URL'];
  if (given === undefined || given === '' || choice.local === true) {
    return apiOf(await findDeployment(choice));
  }
  return accessTo({ name: given, apiUrl: checkedUrl(given), client: {} });
};

/** The API of a deployment that was found already. */
export const apiOf = ({ name, apiUrl, client }: Deployment): Promise<ApiAccess> => {
  const given = client.endpoint === undefined ? process.env['POSTHASTE_API_URL'] : undefined;
  return accessTo({ name, apiUrl: given === undefined || given === '' ? apiUrl : checkedUrl(given), client });
};

const checkedUrl = (text: string): string => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new Problem(`POSTHASTE_API_URL takes an http or https URL without a query, not "${text}".`);
  }
  return text;
};

const accessTo = async ({
  name,
  apiUrl,
  client,
}: Pick<Deployment, 'name' | 'apiUrl' | 'client'>): Promise<ApiAccess> => ({
  name,
  apiUrl: apiUrl.replace(/\/+$/, ''),
  authorize: await authorizer(client),
});

/** A token where there is one (`apiAuthorization: jwt`), else Signature Version 4. */
const authorizer = async (client: Deployment['client']): Promise<ApiAccess['authorize']> => {
  const token = process.env['POSTHASTE_TOKEN'];
  if (token !== undefined && token !== '') {
    return ({ headers }) => {
      const authorized = new Headers(headers);
      authorized.set('authorization', `Bearer ${token}`);
      return Promise.resolve(authorized);
    };
  }
  const identity = await identityOf(client);
  return async ({ method, url, headers, body }) => {
    const signer = new AwsV4Signer({
      ...(await identity.credentials()),
      method,
      url,
      headers,
      ...(body === undefined ? {} : { body }),
      service: 'execute-api',
      region: identity.region,
    });
    return (await signer.sign()).headers;
  };
};

const identityOf = async ({ region, credentials }: Deployment['client']): Promise<Identity> => {
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
        throw new Problem(
          `No AWS credentials are at hand: ${failureText(cause)}. They come from the environment, as for the AWS CLI; ` +
            'where the API takes tokens instead, set POSTHASTE_TOKEN.',
          { cause },
        );
      }),
  };
};
