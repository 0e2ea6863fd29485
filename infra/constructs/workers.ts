import { Stack } from 'aws-cdk-lib';
import { ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { workerSteps, type WorkerStep } from '../../shared/config/rules.ts';
import type { NodeFunction } from './functions/node-function.ts';

type Functions = Readonly<Record<WorkerStep, NodeFunction>>;

/**
 * What a worker reads in place of the functions: the variables of all of them, which agree where they share one, and the
 * region. Names, addresses and settings; nothing in it is secret.
 */
export function workerVariables(scope: Construct, functions: Functions): Readonly<Record<string, string>> {
  const ofSteps = workerSteps.flatMap((step) => Object.entries(functions[step].variables));
  return { AWS_REGION: Stack.of(scope).region, ...Object.fromEntries(ofSteps) };
}

/**
 * A managed policy for each step of a worker, for identities that this app does not create. One for each, because all
 * permissions together exceed the size of a policy (IAM quotas), and a worker may do only some of the steps.
 */
export class WorkerPolicies extends Construct {
  readonly arns: readonly string[];

  constructor(scope: Construct, id: string, functions: Functions) {
    super(scope, id);
    this.arns = workerSteps.map((step) => {
      const policy = new ManagedPolicy(this, step, { description: `Posthaste: ${step} in a worker` });
      functions[step].grantWork(policy);
      return policy.managedPolicyArn;
    });
  }
}
