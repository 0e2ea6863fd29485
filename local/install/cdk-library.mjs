// Loaded before the built-in app if the CDK's library is not beside the package: finds it where the start installed it.
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cdkFolder } from './cdk.mjs';

const parentURL = pathToFileURL(join(cdkFolder, 'package.json')).href;

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, /^(aws-cdk-lib|constructs)(\/|$)/.test(specifier) ? { ...context, parentURL } : context),
});
