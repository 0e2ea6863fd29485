// Loaded before the built-in app if the CDK's library is not beside the package. The query names the folder that has it.
import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

const parentURL = new URL(import.meta.url).searchParams.get('in') ?? import.meta.url;
const there = createRequire(parentURL);

// A hook for `require` cannot change the parent, so the file is found here.
registerHooks({
  resolve: (specifier, context, next) =>
    /^(aws-cdk-lib|constructs)(\/|$)/.test(specifier) && context.parentURL !== parentURL
      ? { url: pathToFileURL(there.resolve(specifier)).href, shortCircuit: true }
      : next(specifier, context),
});
