import { randomBytes } from 'node:crypto';
import { delimiter, dirname } from 'node:path';
import { projectNode } from './install/paths.mjs';

/** Account and region of the local AWS. */
export const localAws = { account: '000000000000', region: 'us-east-1' } as const;

/** Keys of the account's root user. They allow running code on this machine. */
export type RootKeys = { accessKeyId: string; secretAccessKey: string };

/** New keys; the local AWS accepts only these and keys that it issues (ministack_access.py). */
export function randomKeys(): RootKeys {
  return { accessKeyId: randomBytes(16).toString('hex'), secretAccessKey: randomBytes(32).toString('hex') };
}

/**
 * The environment for child processes. An allowlist, so that no AWS profile or endpoint of the user reaches the CDK or
 * the functions.
 */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const passedOn = Object.entries(process.env).filter(([name]) => PASSED_ON.includes(name));
  // The functions run on this Node. In the repository, its folder has the other commands as well.
  const path = [dirname(projectNode), process.env['PATH'] ?? ''].join(delimiter);
  return { ...Object.fromEntries(passedOn), PATH: path };
}

const PASSED_ON = ['HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

/** The environment for an app of the user, which may read variables that this project does not know. */
export function environmentWithoutAws(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('AWS_')));
}

/** Variables that direct AWS command line tools and SDKs to the local AWS. */
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
