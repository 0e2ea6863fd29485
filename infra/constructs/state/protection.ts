import { RemovalPolicy } from 'aws-cdk-lib';

/** Keeps a resource that leaves the stack, unless it is disposable (local deployments). */
export function removalOf(disposable: boolean): RemovalPolicy {
  return disposable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN;
}
