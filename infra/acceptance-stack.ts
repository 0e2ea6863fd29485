import { CfnOutput, Duration, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
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
import { acknowledge } from './constructs/newer-cdk.ts';
import { SqsQueue } from './constructs/queues/sqs-queue.ts';

interface AcceptanceProps extends StackProps {
  /** @default no role of a producer */
  readonly ingressQueueUrl?: string | undefined;
}

/**
 * The receiver of `posthaste accept` for a deployment in AWS: deployed for the acceptance, and deleted after it
 * (docs/operations.md#after-you-deploy). Anyone can call its URL; it only counts.
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
    acknowledge(this, {
      id: 'AwsSolutions-SQS3',
      reason: 'What the receiver saw is read once or not at all, and kept for an hour.',
    });
    acknowledge(this, {
      id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]',
      reason: 'The receiver writes logs, for as long as the acceptance takes.',
    });
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
