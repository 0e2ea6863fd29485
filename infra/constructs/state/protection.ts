import { RemovalPolicy } from 'aws-cdk-lib';
import type { TableOptionsV2 } from 'aws-cdk-lib/aws-dynamodb';

/** What becomes of state when its resource leaves the stack: kept, unless the deployment is a laptop's. */
export function removalOf(disposable: boolean): RemovalPolicy {
  return disposable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN;
}

/** Of a table that holds what cannot be had again: it can be neither deleted by mistake nor lost to a bad write. */
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
