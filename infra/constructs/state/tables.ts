import {
  AttributeType,
  Billing,
  type GlobalSecondaryIndexPropsV2,
  type ITableV2,
  ProjectionType,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import {
  deliveryIndexes,
  listedAttribute,
  primaryKey,
  subscriptionIndexes,
  ttlAttribute,
} from '../../../shared/config/tables.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { chooseRemovalPolicy } from './protection.ts';

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

type TableProps = {
  readonly disposable: boolean;
  readonly indexes: readonly GlobalSecondaryIndexPropsV2[];
  /** Write units a second that the table and each index can take from the start. @default AWS's 4,000 */
  readonly warmWrites?: number | undefined;
};

/** Protected against deletion, and against bad writes by point-in-time recovery, unless it is `disposable`. */
class Table extends Construct {
  readonly name: string;
  readonly table: ITableV2;

  constructor(scope: Construct, id: string, { disposable, indexes, warmWrites }: TableProps) {
    super(scope, id);
    const warm = warmWrites === undefined ? {} : { warmThroughput: { writeUnitsPerSecond: warmWrites } };
    this.table = new TableV2(this, 'Table', {
      partitionKey: { name: primaryKey.partition, type: AttributeType.STRING },
      sortKey: { name: primaryKey.sort, type: AttributeType.STRING },
      billing: Billing.onDemand(),
      timeToLiveAttribute: ttlAttribute,
      deletionProtection: !disposable,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: !disposable },
      removalPolicy: chooseRemovalPolicy(disposable),
      globalSecondaryIndexes: indexes.map((index) => ({ ...index, ...warm })),
      ...warm,
    });
    this.name = this.table.tableName;
  }

  protected grant(grantee: IGrantable, ...actions: string[]): Grant {
    return Grant.addToPrincipal({ grantee, actions, resourceArns: [this.table.tableArn] });
  }

  protected grantQuery(grantee: IGrantable, ...indexes: IndexKeys[]): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['dynamodb:Query'],
      resourceArns: indexes.map(({ name }) => `${this.table.tableArn}/index/${name}`),
    });
  }
}

/** Messages and deliveries (docs/architecture.md#deliveries-table). */
export class DeliveriesTable extends Table {
  constructor(scope: Construct, id: string, { local, warmWritesPerSecond }: DeploymentSettings) {
    const indexes = [
      index(deliveryIndexes.byHour, keysOnly),
      index(deliveryIndexes.bySubscription, keysAndStatus),
      index(deliveryIndexes.byQueue, keysAndStatus),
      index(deliveryIndexes.overdue, keysOnly, AttributeType.NUMBER),
    ];
    super(scope, id, { disposable: local, indexes, warmWrites: warmWritesPerSecond });
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

  /** Allows listing and changing deliveries, finding those that wait, storing bodies again, and writing the records of recoveries. */
  grantOperate(grantee: IGrantable): void {
    this.grantDeliver(grantee);
    this.grant(grantee, 'dynamodb:BatchGetItem');
    const { byQueue, bySubscription, overdue } = deliveryIndexes;
    this.grantQuery(grantee, byQueue, bySubscription, overdue);
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
}

/** Queues and their subscriptions (docs/architecture.md#subscriptions-table). */
export class SubscriptionsTable extends Table {
  constructor(scope: Construct, id: string, disposable: boolean) {
    // META items are small, few and rarely written. With all attributes, a page of queues takes one read.
    const indexes = [index(subscriptionIndexes.queues, { projectionType: ProjectionType.ALL })];
    super(scope, id, { disposable, indexes });
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

  /** Allows reading items, removing marked subscriptions, and moving those of a deleted queue to its archive and back. */
  grantFindAndArchive(grantee: IGrantable): Grant {
    return this.grant(
      grantee,
      'dynamodb:GetItem',
      'dynamodb:Query',
      'dynamodb:PutItem',
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
    return this.grantQuery(grantee, subscriptionIndexes.queues);
  }
}
