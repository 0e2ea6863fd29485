import { randomBytes } from 'node:crypto';
import { delimiter, join } from 'node:path';
import { projectRoot } from './install/paths.mjs';

/** The local AWS is one account in one region. */
export const localAws = { account: '000000000000', region: 'us-east-1' } as const;

/** Of the account's root. Whoever has them can run code on this machine. */
export type RootKeys = { accessKeyId: string; secretAccessKey: string };

/** The local AWS takes no others (ministack_access.py). */
export function randomKeys(): RootKeys {
  return { accessKeyId: randomBytes(16).toString('hex'), secretAccessKey: randomBytes(32).toString('hex') };
}

/**
 * What programs that we start see of the environment. An AWS profile or endpoint of the user's must reach neither the
 * CDK nor the functions, so it is said what is passed on rather than what is not.
 */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const passedOn = ['HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const path = [join(projectRoot, 'node_modules', '.bin'), process.env['PATH'] ?? ''].join(delimiter);
  return { ...Object.fromEntries(passedOn), PATH: path };
}

/** For the AWS command line tools and SDKs. */
export function awsEnvironment(endpoint: string, keys: RootKeys): NodeJS.ProcessEnv {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_ENDPOINT_URL_S3: endpoint,
    ...keysInEnvironment(keys),
    AWS_REGION: localAws.region,
    AWS_DEFAULT_REGION: localAws.region,
    AWS_EC2_METADATA_DISABLED: 'true',
  };
}

export function keysInEnvironment({ accessKeyId, secretAccessKey }: RootKeys): NodeJS.ProcessEnv {
  return { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
}
