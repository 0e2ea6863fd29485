import './cdk-version.ts';
import { App, CfnOutput, Duration, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import { AccountRootPrincipal, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
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

interface AcceptanceProps extends StackProps {
  /** @default no role of a producer */
  readonly ingressQueueUrl?: string | undefined;
}

/**
 * The receiver of `posthaste accept` for a deployment in AWS, as an app by itself: the stack is deployed for the
 * acceptance, and deleted after it (docs/operations.md#after-you-deploy). Anyone can call its URL; it only counts.
 */
export class AcceptanceStack extends Stack {
  constructor(scope: Construct, id: string, { ingressQueueUrl, ...props }: AcceptanceProps) {
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
    if (ingressQueueUrl !== undefined) this.addProducer(ingressQueueUrl);
  }

  /** A role that has what `grantPublish` gives, and nothing else. */
  private addProducer(ingressQueueUrl: string): void {
    const producer = new Role(this, 'Producer', {
      description: 'Posthaste: posthaste accept tries with it what a producer may not do',
      assumedBy: new AccountRootPrincipal(),
    });
    const resource = ingressQueueUrl.slice(ingressQueueUrl.lastIndexOf('/') + 1);
    const resources = [this.formatArn({ service: 'sqs', resource })];
    producer.addToPolicy(new PolicyStatement({ actions: ['sqs:SendMessage'], resources }));
    new CfnOutput(this, 'ProducerRoleArn', { value: producer.roleArn, description: 'Role of a producer' });
  }
}

const app = new App();
const deployment = String(app.node.tryGetContext('deployment') ?? 'Posthaste');
const ingressQueueUrl: unknown = app.node.tryGetContext('ingressQueueUrl');
const env = { account: process.env['CDK_DEFAULT_ACCOUNT'], region: process.env['CDK_DEFAULT_REGION'] };
new AcceptanceStack(app, `${deployment}Acceptance`, {
  ...(typeof ingressQueueUrl === 'string' && { ingressQueueUrl }),
  env,
});
if (app.node.tryGetContext('crash') !== undefined) new CrashStack(app, `${deployment}Crash`, { env });
