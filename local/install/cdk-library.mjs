// Loaded before the built-in app if the CDK's library is not beside the package. The query names the folder that has it.
import { registerHooks } from 'node:module';

const parentURL = new URL(import.meta.url).searchParams.get('in') ?? import.meta.url;

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, /^(aws-cdk-lib|constructs)(\/|$)/.test(specifier) ? { ...context, parentURL } : context),
});
