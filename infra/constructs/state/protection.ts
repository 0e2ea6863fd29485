import { RemovalPolicy } from 'aws-cdk-lib';

/** Keeps a resource that leaves the stack, unless it is disposable (local deployments). */
export function chooseRemovalPolicy(disposable: boolean): RemovalPolicy {
  return disposable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN;
}
