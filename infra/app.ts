import './cdk-version.ts';
import { App } from 'aws-cdk-lib';
import { createStacks } from './deployment.ts';
import { SettingsError, settingsInContext } from './settings.ts';

/** Entry point of the CDK app (cdk.json). The only file of infra that reads the context and the environment. */
function synthesise(): void {
  const app = new App();
  createStacks(app, settingsInContext(app.node.getAllContext()), {
    account: process.env['CDK_DEFAULT_ACCOUNT'],
    region: process.env['CDK_DEFAULT_REGION'],
  });
}

try {
  synthesise();
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  // A mistake in the settings: the message says what to set, and a stack trace would not help.
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
