import {
  AttributeType,
  type GlobalSecondaryIndexPropsV2,
  type ITableV2,
  ProjectionType,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { deliveryIndexes, listedAttribute } from '../../../shared/config/tables.ts';
import { tableProps } from './protection.ts';

type IndexKeys = { readonly name: string; readonly partition: string; readonly sort: string };

function index(
  { name, partition, sort }: IndexKeys,
  rest: Pick<GlobalSecondaryIndexPropsV2, 'projectionType' | 'nonKeyAttributes'>,
  sortType = AttributeType.STRING,
): GlobalSecondaryIndexPropsV2 {
  return {
    indexName: name,
    partitionKey: { name: partition, type: AttributeType.STRING },
    sortKey: { name: sort, type: sortType },
    ...rest,
  };
}

/**
 * Each index write costs as much as a table write, so indexes carry only keys, and the attribute that listings need.
 */
const keysOnly = { projectionType: ProjectionType.KEYS_ONLY };
const keysAndStatus = { projectionType: ProjectionType.INCLUDE, nonKeyAttributes: [listedAttribute] };

/** Messages and deliveries (docs/architecture.md#deliveries-table). */
export class DeliveriesTable extends Construct {
  readonly name: string;
  readonly table: ITableV2;

  /** `disposable`: whether the table may be deleted together with its data. */
  constructor(scope: Construct, id: string, disposable: boolean) {
    super(scope, id);
    this.table = new TableV2(this, 'Table', {
      ...tableProps(disposable),
      globalSecondaryIndexes: [
        index(deliveryIndexes.byHour, keysOnly),
        index(deliveryIndexes.bySubscription, keysAndStatus),
        index(deliveryIndexes.byQueue, keysAndStatus),
        index(deliveryIndexes.overdue, keysOnly, AttributeType.NUMBER),
      ],
    });
    this.name = this.table.tableName;
  }

  /** Allows writing MESSAGE items and counting their duplicates. */
  grantAccept(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:PutItem', 'dynamodb:UpdateItem');
  }

  /** Allows reading single records of messages and deliveries. */
  grantFind(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:GetItem');
  }

  /** Allows changing deliveries, and storing a body in the MESSAGE item. */
  grantDeliver(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem');
  }

  /** Allows finding overdue deliveries and postponing them. */
  grantReconcile(grantee: IGrantable): void {
    this.grant(grantee, 'dynamodb:UpdateItem');
    this.grantQuery(grantee, deliveryIndexes.overdue);
  }

  /** Allows counting overdue deliveries. */
  grantCountOverdue(grantee: IGrantable): void {
    this.grantQuery(grantee, deliveryIndexes.overdue);
  }

  /** Allows finding the deliveries that wait until they are received, and changing them. */
  grantReceive(grantee: IGrantable): void {
    this.grant(grantee, 'dynamodb:GetItem', 'dynamodb:UpdateItem');
    this.grantQuery(grantee, deliveryIndexes.overdue);
  }

  /** Allows listing and changing deliveries, storing bodies again, and writing the records of recoveries. */
  grantOperate(grantee: IGrantable): void {
    this.grantDeliver(grantee);
    this.grant(grantee, 'dynamodb:BatchGetItem');
    this.grantQuery(grantee, deliveryIndexes.byQueue, deliveryIndexes.bySubscription);
  }

  /** Allows reading and listing messages and deliveries. */
  grantRead(grantee: IGrantable): void {
    this.grant(grantee, 'dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query');
    const { byHour, byQueue, bySubscription } = deliveryIndexes;
    this.grantQuery(grantee, byHour, byQueue, bySubscription);
  }

  /** Allows removing the body from a MESSAGE item. */
  grantErase(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:UpdateItem');
  }

  /** Allows writing the records of recoveries. */
  grantRecover(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:PutItem');
  }

  private grantQuery(grantee: IGrantable, ...indexes: IndexKeys[]): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['dynamodb:Query'],
      resourceArns: indexes.map(({ name }) => `${this.table.tableArn}/index/${name}`),
    });
  }

  private grant(grantee: IGrantable, ...actions: string[]): Grant {
    return Grant.addToPrincipal({ grantee, actions, resourceArns: [this.table.tableArn] });
  }
}
