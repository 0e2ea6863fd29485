import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, Billing, type TablePropsV2 } from 'aws-cdk-lib/aws-dynamodb';
import { primaryKey, ttlAttribute } from '../../../shared/config/tables.ts';

/** Keeps a resource that leaves the stack, unless it is disposable (local deployments). */
export function removalOf(disposable: boolean): RemovalPolicy {
  return disposable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN;
}

/** Of both tables. Protects them against deletion, and against bad writes by point-in-time recovery. */
export function tableProps(disposable: boolean): TablePropsV2 {
  return {
    partitionKey: { name: primaryKey.partition, type: AttributeType.STRING },
    sortKey: { name: primaryKey.sort, type: AttributeType.STRING },
    billing: Billing.onDemand(),
    timeToLiveAttribute: ttlAttribute,
    deletionProtection: !disposable,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: !disposable },
    removalPolicy: removalOf(disposable),
  };
}
