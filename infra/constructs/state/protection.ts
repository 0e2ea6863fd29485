import { RemovalPolicy } from 'aws-cdk-lib';
import type { TableOptionsV2 } from 'aws-cdk-lib/aws-dynamodb';

/** Keeps a resource that leaves the stack, unless it is disposable (local deployments). */
export function removalOf(disposable: boolean): RemovalPolicy {
  return disposable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN;
}

/** Protects a table against deletion, and against bad writes by point-in-time recovery. */
export function tableProtection(disposable: boolean): Pick<
  TableOptionsV2,
  'deletionProtection' | 'pointInTimeRecoverySpecification'
> & {
  removalPolicy: RemovalPolicy;
} {
  return {
    deletionProtection: !disposable,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: !disposable },
    removalPolicy: removalOf(disposable),
  };
}
