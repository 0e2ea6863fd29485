import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import type { Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { Grant, type IGrantable, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IQueue, Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { MOST_RECEIVES, visibilityTimeout } from '../../../shared/domain/receives.ts';

/** What every SQS queue of ours has: TLS only, encrypted at rest, no name of its own, and its metrics. */
export class SqsQueue extends Construct {
  readonly url: string;
  readonly arn: string;
  readonly name: string;
  protected readonly queue: Queue;

  constructor(scope: Construct, id: string, props: QueueProps) {
    super(scope, id);
    this.queue = new Queue(this, 'Queue', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      // Queues hold what is under way. What must outlive the pipeline is in the tables.
      removalPolicy: RemovalPolicy.DESTROY,
      ...props,
    });
    this.url = this.queue.queueUrl;
    this.arn = this.queue.queueArn;
    this.name = this.queue.queueName;
  }

  /** For other constructs of CDK, as the target of a rule or the subscription of a topic. */
  get sqs(): IQueue {
    return this.queue;
  }

  /** A batch is sent under the same action. */
  grantSend(grantee: IGrantable): Grant {
    return this.grant(grantee, 'sqs:SendMessage');
  }

  /** Lets a service send for these sources of its own, and for no others: "aws:SourceArn" says for whom it does. */
  grantSendFrom(service: string, sourceArns: readonly string[]): void {
    if (sourceArns.length === 0) return;
    this.queue.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(service)],
        actions: ['sqs:SendMessage'],
        resources: [this.arn],
        conditions: { ArnEquals: { 'aws:SourceArn': sourceArns } },
      }),
    );
  }

  /** To ask how much lies in it. */
  grantCount(grantee: IGrantable): Grant {
    return this.grant(grantee, 'sqs:GetQueueAttributes');
  }

  /** Messages waiting, those in flight and delayed not counted. */
  metricWaiting(options?: MetricOptions): Metric {
    return this.queue.metricApproximateNumberOfMessagesVisible({ statistic: 'max', ...options });
  }

  /** Seconds. */
  metricAgeOfOldest(options?: MetricOptions): Metric {
    return this.queue.metricApproximateAgeOfOldestMessage({ statistic: 'max', ...options });
  }

  /** Messages received and not yet deleted: those that a function is at, and those that it failed lately. */
  metricInFlight(options?: MetricOptions): Metric {
    return this.queue.metricApproximateNumberOfMessagesNotVisible({ statistic: 'max', ...options });
  }

  metricSent(options?: MetricOptions): Metric {
    return this.queue.metricNumberOfMessagesSent({ statistic: 'sum', ...options });
  }

  /** Messages that were dealt with. */
  metricDeleted(options?: MetricOptions): Metric {
    return this.queue.metricNumberOfMessagesDeleted({ statistic: 'sum', ...options });
  }

  /** In the queue's own policy where the grantee has none here: a service such as SNS, or another account. */
  protected grant(grantee: IGrantable, ...actions: string[]): Grant {
    return Grant.addToPrincipalOrResource({
      grantee,
      actions,
      resourceArns: [this.arn],
      resource: this.queue,
    });
  }
}

export interface HoldingQueueProps {
  /** How long a message lies there for a person or a program to fetch it. @default 14 days, the longest that SQS keeps */
  readonly retention?: Duration;
}

/** A queue that nothing of ours consumes: dead letters, undeliverable deliveries. */
export class HoldingQueue extends SqsQueue {
  constructor(scope: Construct, id: string, props: HoldingQueueProps = {}) {
    super(scope, id, { retentionPeriod: props.retention ?? Duration.days(14) });
  }

  /** For `redrivePolicy`. */
  get asDeadLetterQueue() {
    return { queue: this.queue, maxReceiveCount: MOST_RECEIVES };
  }
}

export interface WorkQueueProps {
  /** Timeout of the function that consumes it; sets the visibility timeout. */
  readonly consumerTimeout: Duration;
  /** How long Lambda gathers messages for a batch, which it has received already. @default not at all */
  readonly window?: Duration;
  readonly deadLetters: HoldingQueue;
}

/**
 * A queue that a function consumes. It keeps messages for 4 days, its dead-letter queue 14: a dead letter keeps its age,
 * so that leaves 10 days at least to look at it.
 */
export class WorkQueue extends SqsQueue {
  /** How long a message is hidden whose function died. */
  readonly visibilityTimeout: Duration;

  constructor(scope: Construct, id: string, props: WorkQueueProps) {
    const hidden = Duration.seconds(
      visibilityTimeout(props.consumerTimeout.toSeconds(), props.window?.toSeconds()),
    );
    super(scope, id, {
      retentionPeriod: Duration.days(4),
      visibilityTimeout: hidden,
      deadLetterQueue: props.deadLetters.asDeadLetterQueue,
    });
    this.visibilityTimeout = hidden;
  }

  /**
   * What Lambda needs to poll in the function's name (AWSLambdaSQSQueueExecutionRole, scoped to this queue), and what the
   * function needs to have a message that it failed come again sooner.
   */
  grantConsume(grantee: IGrantable): Grant {
    return this.grant(
      grantee,
      'sqs:ReceiveMessage',
      'sqs:DeleteMessage',
      'sqs:GetQueueAttributes',
      'sqs:ChangeMessageVisibility',
    );
  }
}
