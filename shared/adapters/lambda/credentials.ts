import { fromEnv } from '@aws-sdk/credential-provider-env';
import { memoize } from '@smithy/core/config';

/**
 * The credentials provider of the bundles, in place of the SDK's chain: Lambda passes credentials in the
 * environment ("Defined runtime environment variables", Lambda developer guide). The other providers, with their
 * STS and IAM Identity Center clients, would be a tenth of each bundle. Like the chain it reads them once: a call asks
 * twice for credentials, and the environment is slow.
 */
export const defaultProvider = (...init: Parameters<typeof fromEnv>) => memoize(fromEnv(...init));
