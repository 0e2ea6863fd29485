import './cdk-version.ts';
import { App } from 'aws-cdk-lib';
import { AcceptanceStack } from './acceptance-stack.ts';
import { CrashStack } from './crash-stack.ts';

/** What `posthaste accept` needs beside a deployment in AWS (docs/operations.md#after-you-deploy). */
const app = new App();
const deployment = String(app.node.tryGetContext('deployment') ?? 'Posthaste');
const ingressQueueUrl: unknown = app.node.tryGetContext('ingressQueueUrl');
const env = { account: process.env['CDK_DEFAULT_ACCOUNT'], region: process.env['CDK_DEFAULT_REGION'] };
new AcceptanceStack(app, `${deployment}Acceptance`, {
  ...(typeof ingressQueueUrl === 'string' && { ingressQueueUrl }),
  env,
});
if (app.node.tryGetContext('crash') !== undefined) new CrashStack(app, `${deployment}Crash`, { env });
