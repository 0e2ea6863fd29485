import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { EventSources } from './event-sources.ts';

export interface SeparateStackProps extends StackProps {
  /**
   * ARN of an existing deployment's ingress queue: `aws sqs get-queue-attributes` with its output
   * `IngressQueueUrl`.
   */
  readonly ingressQueueArn: string;
}

/**
 * The shop in a separate stack. It cannot change the policy of another stack's queue, so add its outputs to
 * Posthaste's setting `ingressSenders`. Until then EventBridge and SNS retry.
 */
export class SeparateStack extends Stack {
  constructor(scope: Construct, id: string, { ingressQueueArn, ...props }: SeparateStackProps) {
    super(scope, id, props);
    const ingress = Queue.fromQueueArn(this, 'Ingress', ingressQueueArn);
    const { rule, payments } = new EventSources(this, 'Events', { ingress });
    new CfnOutput(this, 'IngressSenders', { value: [rule.ruleArn, payments.topicArn].join(',') });
  }
}
