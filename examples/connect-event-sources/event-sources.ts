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

/** The `source` of the shop's events. With the name of its topic it says which queue they go to: see `ingressRoutes`. */
export const SHOP_SOURCE = 'com.example.shop';
export const PAYMENTS_TOPIC = 'shop-payments';

/** A shop that has events: orders on an event bus, payments on a topic. Both go to the ingress queue as they are. */
export class EventSources extends Construct {
  readonly bus: EventBus;
  readonly rule: Rule;
  readonly payments: Topic;

  constructor(scope: Construct, id: string, { ingress }: EventSourcesProps) {
    super(scope, id);
    // What EventBridge and SNS could not hand over, after a day and after 23 days of trying.
    const notSent = new Queue(this, 'NotSent', { enforceSSL: true });

    this.bus = new EventBus(this, 'Bus');
    this.rule = new Rule(this, 'Orders', {
      eventBus: this.bus,
      eventPattern: { source: [SHOP_SOURCE], detailType: ['Order Created', 'Order Cancelled'] },
      targets: [new SqsQueue(ingress, { deadLetterQueue: notSent })],
    });

    this.payments = new Topic(this, 'Payments', { topicName: PAYMENTS_TOPIC, enforceSSL: true });
    // Wrapped, not raw: so Posthaste knows the topic, and a message that SNS sends twice is the same one.
    this.payments.addSubscription(new SqsSubscription(ingress, { deadLetterQueue: notSent }));
  }
}
