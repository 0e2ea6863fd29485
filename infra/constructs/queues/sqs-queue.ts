import { Duration } from 'aws-cdk-lib';
import type { Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { Grant, type IGrantable, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { MAX_RECEIVES, visibilityTimeout } from '../../../shared/domain/receives.ts';
import { SettingsError, shownValue } from '../../settings.ts';
import { chooseRemovalPolicy } from '../state/protection.ts';

interface SqsQueueProps extends Omit<QueueProps, 'removalPolicy'> {
  /** Whether its messages may be deleted with it: those of a local deployment. */
  readonly disposable: boolean;
}

/** An SQS queue with TLS only, encryption at rest, a generated name, and metrics. */
export class SqsQueue extends Construct {
  readonly url: string;
  readonly arn: string;
  readonly name: string;
  /** For other CDK constructs: the target of a rule or the subscription of a topic. */
  readonly sqs: Queue;

  constructor(scope: Construct, id: string, { disposable, ...props }: SqsQueueProps) {
    super(scope, id);
    this.sqs = new Queue(this, 'Queue', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      removalPolicy: chooseRemovalPolicy(disposable),
      ...props,
    });
    this.url = this.sqs.queueUrl;
    this.arn = this.sqs.queueArn;
    this.name = this.sqs.queueName;
  }

  /** Includes sending batches, which need the same action. */
  grantSend(grantee: IGrantable): Grant {
    return this.grant(grantee, 'sqs:SendMessage');
  }

  /** Allows a service to send on behalf of these sources only, by the condition `aws:SourceArn`. */
  grantSendFrom(service: string, sourceArns: readonly string[]): void {
    if (sourceArns.length === 0) return;
    this.sqs.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(service)],
        actions: ['sqs:SendMessage'],
        resources: [this.arn],
        conditions: { ArnEquals: { 'aws:SourceArn': sourceArns } },
      }),
    );
  }

  /** Allows reading the approximate number of messages. */
  grantCount(grantee: IGrantable): Grant {
    return this.grant(grantee, 'sqs:GetQueueAttributes');
  }

  /** Messages waiting, excluding those in flight or delayed. */
  metricWaiting(options?: MetricOptions): Metric {
    return this.sqs.metricApproximateNumberOfMessagesVisible({ statistic: 'max', ...options });
  }

  /** Seconds. */
  metricAgeOfOldest(options?: MetricOptions): Metric {
    return this.sqs.metricApproximateAgeOfOldestMessage({ statistic: 'max', ...options });
  }

  /** Messages received and not deleted yet: those being processed, and those that failed recently. */
  metricInFlight(options?: MetricOptions): Metric {
    return this.sqs.metricApproximateNumberOfMessagesNotVisible({ statistic: 'max', ...options });
  }

  metricSent(options?: MetricOptions): Metric {
    return this.sqs.metricNumberOfMessagesSent({ statistic: 'sum', ...options });
  }

  /** Messages processed. */
  metricDeleted(options?: MetricOptions): Metric {
    return this.sqs.metricNumberOfMessagesDeleted({ statistic: 'sum', ...options });
  }

  /**
   * Adds to the queue policy where the grantee has no policy here: other accounts, or services such as SNS.
   * @throws SettingsError for everyone, and for a service, which acts for all of its customers, without a condition
   */
  protected grant(grantee: IGrantable, ...actions: string[]): Grant {
    requireKnown(grantee);
    return Grant.addToPrincipalOrResource({
      grantee,
      actions,
      resourceArns: [this.arn],
      resource: this.sqs,
    });
  }
}

function requireKnown({ grantPrincipal: { policyFragment } }: IGrantable): void {
  const { principalJson, conditions } = policyFragment;
  const isAnyone = 'Service' in principalJson || Object.values(principalJson).flat().includes('*');
  if (isAnyone && Object.keys(conditions).length === 0)
    throw new SettingsError([
      `the grantee ${shownValue(principalJson)} needs a condition, such as aws:SourceArn; for topics and rules set ingressSenders`,
    ]);
}

/** A queue without a consuming function: dead letters, undeliverable deliveries. Keeps them as long as SQS can. */
export class HoldingQueue extends SqsQueue {
  constructor(scope: Construct, id: string, disposable: boolean) {
    super(scope, id, { disposable, retentionPeriod: Duration.days(14) });
  }

  /** The `redrivePolicy` of queues that use this dead-letter queue. */
  get asDeadLetterQueue() {
    return { queue: this.sqs, maxReceiveCount: MAX_RECEIVES };
  }
}

export interface WorkQueueProps {
  /** The timeout of the consuming function, from which the visibility timeout follows. */
  readonly consumerTimeout: Duration;
  /** How long Lambda holds received messages to gather a batch. @default not at all */
  readonly window?: Duration;
  readonly deadLetters: HoldingQueue;
  readonly disposable: boolean;
}

/**
 * A queue that a function consumes. It keeps messages for 4 days, its dead-letter queue for 14. Dead letters keep their
 * age, so at least 10 days remain to examine them.
 */
export class WorkQueue extends SqsQueue {
  /** How long a message stays hidden after its function crashed. */
  readonly visibilityTimeout: Duration;

  constructor(scope: Construct, id: string, props: WorkQueueProps) {
    const hidden = Duration.seconds(
      visibilityTimeout(props.consumerTimeout.toSeconds(), props.window?.toSeconds()),
    );
    super(scope, id, {
      disposable: props.disposable,
      retentionPeriod: Duration.days(4),
      visibilityTimeout: hidden,
      deadLetterQueue: props.deadLetters.asDeadLetterQueue,
    });
    this.visibilityTimeout = hidden;
  }

  /**
   * Allows Lambda to poll with the function's role (as AWSLambdaSQSQueueExecutionRole, for this queue only), and the
   * function to make failed messages visible again early.
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

export interface PipelineQueues {
  /** Messages from producers. */
  readonly ingress: WorkQueue;
  /** First attempts. */
  readonly delivery: WorkQueue;
  /** Wake-ups. */
  readonly retry: WorkQueue;
  /** Long operations: recoveries and cancellations. */
  readonly operation: WorkQueue;
  /** Notices of deliveries that were rejected or ran out of retries, for the operator's programs. */
  readonly undeliverable: HoldingQueue;
  readonly ingressDeadLetters: HoldingQueue;
  readonly deliveryDeadLetters: HoldingQueue;
  readonly operationDeadLetters: HoldingQueue;
}
