import { fromEnv } from '@aws-sdk/credential-provider-env';

/**
 * What the bundles have in place of the SDK's chain of credential providers: Lambda gives a function its credentials by the
 * environment ("Defined runtime environment variables", Lambda developer guide). The others, with their clients of STS and
 * IAM Identity Center, would be a tenth of each bundle.
 */
export const defaultProvider = fromEnv;
