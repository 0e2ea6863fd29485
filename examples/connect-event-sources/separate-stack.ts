import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { EventSources } from './event-sources.ts';

export interface SeparateStackProps extends StackProps {
  /** Of a Posthaste that is deployed already: `aws sqs get-queue-attributes` on its output `IngressQueueUrl` says it. */
  readonly ingressQueueArn: string;
}

/**
 * The shop apart from Posthaste. A stack cannot add to the policy of another one's queue, so Posthaste is told who may send:
 * the outputs go into its setting `ingressSenders`. Until then EventBridge and SNS try again.
 */
export class SeparateStack extends Stack {
  constructor(scope: Construct, id: string, { ingressQueueArn, ...props }: SeparateStackProps) {
    super(scope, id, props);
    const ingress = Queue.fromQueueArn(this, 'Ingress', ingressQueueArn);
    const { rule, payments } = new EventSources(this, 'Events', { ingress });
    new CfnOutput(this, 'IngressSenders', { value: [rule.ruleArn, payments.topicArn].join(',') });
  }
}
