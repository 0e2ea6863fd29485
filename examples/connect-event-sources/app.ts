import { App } from 'aws-cdk-lib';
import { SeparateStack } from './separate-stack.ts';
import { ShopStack } from './shop-stack.ts';

// npx cdk deploy --app 'node examples/connect-event-sources/app.ts' Shop
// npx cdk deploy --app 'node examples/connect-event-sources/app.ts' -c ingressQueueArn=arn:aws:sqs:… ShopApart

const app = new App();
const env = { account: process.env['CDK_DEFAULT_ACCOUNT'], region: process.env['CDK_DEFAULT_REGION'] };
const ingressQueueArn: unknown = app.node.tryGetContext('ingressQueueArn');

new ShopStack(app, 'Shop', { env });
if (typeof ingressQueueArn === 'string') new SeparateStack(app, 'ShopApart', { env, ingressQueueArn });
