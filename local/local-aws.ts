import { delimiter, join } from 'node:path';
import { projectRoot } from './install/paths.mjs';

/** The local AWS is one account in one region, and these keys are its root's. */
export const localAws = {
  account: '000000000000',
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
} as const;

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
export function awsEnvironment(endpoint: string): NodeJS.ProcessEnv {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ACCESS_KEY_ID: localAws.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: localAws.credentials.secretAccessKey,
    AWS_REGION: localAws.region,
    AWS_DEFAULT_REGION: localAws.region,
    AWS_EC2_METADATA_DISABLED: 'true',
  };
}
