import './cdk-version.ts';
import { App, CfnOutput, Duration, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import {
  Architecture,
  Function as LambdaFunction,
  FunctionUrlAuthType,
  Runtime,
  RuntimeFamily,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { functionCode } from './bundling.ts';
import { SqsQueue } from './constructs/queues/sqs-queue.ts';
import { CrashStack } from './crash-stack.ts';

/**
 * The receiver of `posthaste accept` for a deployment in AWS, as an app by itself: the stack is deployed for the
 * acceptance, and deleted after it (docs/operations.md#after-you-deploy). Anyone can call its URL; it only counts.
 */
class AcceptanceStack extends Stack {
  constructor(scope: Construct, id: string, props: StackProps) {
    super(scope, id, {
      description: 'Posthaste: the receiver of posthaste accept; delete it afterwards',
      ...props,
    });
    const seen = new SqsQueue(this, 'Seen', { retentionPeriod: Duration.hours(1), disposable: true });
    const receiver = new LambdaFunction(this, 'Receiver', {
      description: 'Posthaste: receives the webhooks of posthaste accept',
      code: functionCode('acceptance'),
      handler: 'index.handler',
      runtime: new Runtime('nodejs24.x', RuntimeFamily.NODEJS),
      architecture: Architecture.ARM_64,
      memorySize: 512,
      timeout: Duration.seconds(10),
      logGroup: new LogGroup(this, 'Log', {
        retention: RetentionDays.ONE_DAY,
        removalPolicy: RemovalPolicy.DESTROY,
      }),
      environment: { SEEN_QUEUE_URL: seen.url },
    });
    seen.grantSend(receiver);
    const { url } = receiver.addFunctionUrl({ authType: FunctionUrlAuthType.NONE });
    new CfnOutput(this, 'ReceiverUrl', { value: url, description: 'Receives webhooks of posthaste accept' });
    new CfnOutput(this, 'SeenQueueUrl', { value: seen.url, description: 'Queue of what it saw' });
  }
}

const app = new App();
const deployment = String(app.node.tryGetContext('deployment') ?? 'Posthaste');
const env = { account: process.env['CDK_DEFAULT_ACCOUNT'], region: process.env['CDK_DEFAULT_REGION'] };
new AcceptanceStack(app, `${deployment}Acceptance`, { env });
if (app.node.tryGetContext('crash') !== undefined) new CrashStack(app, `${deployment}Crash`, { env });
