import { AttributeType, ProjectionType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { subscriptionIndexes } from '../../../shared/config/tables.ts';
import { tableProps } from './protection.ts';

/** Queues and their subscriptions (docs/architecture.md#subscriptions-table). */
export class SubscriptionsTable extends Construct {
  readonly name: string;
  private readonly table: TableV2;

  /** `disposable`: whether the table may be deleted together with its data. */
  constructor(scope: Construct, id: string, disposable: boolean) {
    super(scope, id);
    const { queues } = subscriptionIndexes;
    this.table = new TableV2(this, 'Table', {
      ...tableProps(disposable),
      globalSecondaryIndexes: [
        {
          indexName: queues.name,
          partitionKey: { name: queues.partition, type: AttributeType.STRING },
          sortKey: { name: queues.sort, type: AttributeType.STRING },
          // META items are small, few and rarely written. With all attributes, a page of queues takes one read.
          projectionType: ProjectionType.ALL,
        },
      ],
    });
    this.name = this.table.tableName;
  }

  /** Allows reading queues with all their subscriptions, and single items. */
  grantRead(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:GetItem', 'dynamodb:Query');
  }

  /** Allows reading queues with all their subscriptions. */
  grantList(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:Query');
  }

  /** Allows reading single items, and recording that a subscription fails or is disabled. */
  grantFindAndNoteHealth(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:GetItem', 'dynamodb:UpdateItem');
  }

  /** Allows reading items, and removing subscriptions that are marked for deletion or whose queue was deleted. */
  grantFindAndRemove(grantee: IGrantable): Grant {
    return this.grant(
      grantee,
      'dynamodb:GetItem',
      'dynamodb:Query',
      'dynamodb:DeleteItem',
      'dynamodb:ConditionCheckItem',
    );
  }

  /** Allows everything. A transaction needs the actions of its parts. */
  grantAdminister(grantee: IGrantable): void {
    this.grantRead(grantee);
    this.grant(grantee, 'dynamodb:DeleteItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem');
    this.grant(grantee, 'dynamodb:BatchGetItem', 'dynamodb:ConditionCheckItem');
    this.grantListPulls(grantee);
  }

  /** Allows listing the pull subscriptions of all queues, by the index of the queues. */
  grantListPulls(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['dynamodb:Query'],
      resourceArns: [`${this.table.tableArn}/index/${subscriptionIndexes.queues.name}`],
    });
  }

  private grant(grantee: IGrantable, ...actions: string[]): Grant {
    return Grant.addToPrincipal({ grantee, actions, resourceArns: [this.table.tableArn] });
  }
}
