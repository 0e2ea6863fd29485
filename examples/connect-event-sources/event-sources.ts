import { EventBus, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { SqsSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { type IQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

export interface EventSourcesProps {
  /** Posthaste's ingress queue. */
  readonly ingress: IQueue;
}

/** Source of the shop's order events. It and the topic's name select the queue: see `ingressRoutes`. */
export const SHOP_SOURCE = 'com.example.shop';
export const PAYMENTS_TOPIC = 'shop-payments';

/**
 * Event sources of a shop: orders on an event bus, payments on a topic. Both send to the ingress queue unchanged.
 */
export class EventSources extends Construct {
  readonly bus: EventBus;
  readonly rule: Rule;
  readonly payments: Topic;

  constructor(scope: Construct, id: string, { ingress }: EventSourcesProps) {
    super(scope, id);
    // Events that EventBridge and SNS failed to deliver after 24 hours and 23 days of retries.
    const notSent = new Queue(this, 'NotSent', { enforceSSL: true });

    this.bus = new EventBus(this, 'Bus');
    this.rule = new Rule(this, 'Orders', {
      eventBus: this.bus,
      eventPattern: { source: [SHOP_SOURCE], detailType: ['Order Created', 'Order Cancelled'] },
      targets: [new SqsQueue(ingress, { deadLetterQueue: notSent })],
    });

    this.payments = new Topic(this, 'Payments', { topicName: PAYMENTS_TOPIC, enforceSSL: true });
    // Not raw message delivery: Posthaste needs the topic, and the SNS id to recognise duplicates.
    this.payments.addSubscription(new SqsSubscription(ingress, { deadLetterQueue: notSent }));
  }
}
