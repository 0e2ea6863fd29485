import { fromEnv } from '@aws-sdk/credential-provider-env';

/**
 * The credentials provider of the bundles, in place of the SDK's chain: Lambda passes credentials in the
 * environment ("Defined runtime environment variables", Lambda developer guide). The other providers, with their
 * STS and IAM Identity Center clients, would be a tenth of each bundle.
 */
export const defaultProvider = fromEnv;
