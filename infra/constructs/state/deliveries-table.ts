import {
  AttributeType,
  Billing,
  type GlobalSecondaryIndexPropsV2,
  ProjectionType,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { deliveryIndexes, listedAttribute, primaryKey, ttlAttribute } from '../../../shared/config/tables.ts';
import { tableProtection } from './protection.ts';

export interface DeliveriesTableProps {
  /** Whether it may be deleted with everything in it. */
  readonly disposable: boolean;
}

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

/** Every index is written again with its item and paid again, so each carries its keys and nothing that is not listed. */
const keysOnly = { projectionType: ProjectionType.KEYS_ONLY };
const keysAndStatus = { projectionType: ProjectionType.INCLUDE, nonKeyAttributes: [listedAttribute] };

/** Messages and deliveries (docs/design.md#deliveries-table). */
export class DeliveriesTable extends Construct {
  readonly name: string;
  private readonly table: TableV2;

  constructor(scope: Construct, id: string, props: DeliveriesTableProps) {
    super(scope, id);
    this.table = new TableV2(this, 'Table', {
      partitionKey: { name: primaryKey.partition, type: AttributeType.STRING },
      sortKey: { name: primaryKey.sort, type: AttributeType.STRING },
      billing: Billing.onDemand(),
      timeToLiveAttribute: ttlAttribute,
      globalSecondaryIndexes: [
        index(deliveryIndexes.byHour, keysOnly),
        index(deliveryIndexes.bySubscription, keysAndStatus),
        index(deliveryIndexes.byQueue, keysAndStatus),
        index(deliveryIndexes.overdue, keysOnly, AttributeType.NUMBER),
      ],
      ...tableProtection(props.disposable),
    });
    this.name = this.table.tableName;
  }

  /** The MESSAGE item: written once, a repeat counted. */
  grantAccept(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:PutItem', 'dynamodb:UpdateItem');
  }

  /** The record of one message or delivery. */
  grantFind(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:GetItem');
  }

  /** A delivery's transitions, and the body kept on its MESSAGE item. */
  grantDeliver(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem');
  }

  /** What is overdue, found and moved ahead. */
  grantReconcile(grantee: IGrantable): void {
    this.grant(grantee, 'dynamodb:UpdateItem');
    this.grantQuery(grantee, deliveryIndexes.overdue);
  }

  /** How many are overdue. */
  grantCountOverdue(grantee: IGrantable): void {
    this.grantQuery(grantee, deliveryIndexes.overdue);
  }

  /** Listings of deliveries page by page, their transitions by hand, bodies kept anew, and the records of recoveries. */
  grantOperate(grantee: IGrantable): void {
    this.grantDeliver(grantee);
    this.grant(grantee, 'dynamodb:BatchGetItem');
    this.grantQuery(grantee, deliveryIndexes.byQueue, deliveryIndexes.bySubscription);
  }

  /** Messages and deliveries, one by one and in listings. */
  grantRead(grantee: IGrantable): void {
    this.grant(grantee, 'dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query');
    const { byHour, byQueue, bySubscription } = deliveryIndexes;
    this.grantQuery(grantee, byHour, byQueue, bySubscription);
  }

  /** The body, taken off its MESSAGE item. */
  grantErase(grantee: IGrantable): Grant {
    return this.grant(grantee, 'dynamodb:UpdateItem');
  }

  /** The records of recoveries. */
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
