import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';

/** The event bus that notifies operators (docs/operations.md). Operators add rules to it. */
export class OperatorEvents extends Construct {
  readonly busName: string;
  readonly bus: IEventBus;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.bus = new EventBus(this, 'Bus', {
      description: 'Posthaste: events for operators',
    });
    this.busName = this.bus.eventBusName;
  }

  grantPublish(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['events:PutEvents'],
      resourceArns: [this.bus.eventBusArn],
    });
  }
}
