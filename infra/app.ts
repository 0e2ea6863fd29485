import { App } from 'aws-cdk-lib';
import { placeStacks } from './deployment.ts';
import { SettingsError, settingsFromContext } from './settings.ts';

/** Entry of the CDK app (cdk.json), and the only file of infra that reads the context and the environment. */
function synthesise(): void {
  const app = new App();
  const settings = settingsFromContext(app.node.getAllContext());
  placeStacks(app, settings, {
    account: process.env['CDK_DEFAULT_ACCOUNT'],
    region: process.env['CDK_DEFAULT_REGION'],
  });
}

try {
  synthesise();
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  // The operator's mistake, not ours: what to set is all there is to say.
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
