import { EventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';

/** The bus on which operators are told what happened (docs/operations.md). Which rules are on it is theirs to decide. */
export class OperatorEvents extends Construct {
  readonly busName: string;
  private readonly bus: EventBus;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.bus = new EventBus(this, 'Bus', {
      description: 'Posthaste: what operators want to be told of',
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
