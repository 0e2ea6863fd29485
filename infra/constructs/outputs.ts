import { CfnOutput } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

type Tables = Readonly<Record<'subscriptions' | 'deliveries', { readonly name: string }>>;

export type Outputs = Readonly<Record<string, readonly [value: string, description: string]>>;

/**
 * The command finds a deployment by its outputs. In a stack they have these names exactly, below a construct
 * CloudFormation's names have its path before and a hash behind.
 * @throws Error if the scope has something else by such a name, which the command would take for this deployment's
 */
export function addOutputs(scope: Construct, outputs: Outputs): void {
  for (const [name, [value, description]] of Object.entries(outputs)) {
    if (scope.node.tryFindChild(name) !== undefined)
      throw new Error(
        `${scope.node.path} has ${name} already, which is an output of Posthaste: put this deployment into another stack, or below a construct`,
      );
    new CfnOutput(scope, name, { value, description });
  }
}

/** Those of the state that the command reads. */
export function tableOutputs({ subscriptions, deliveries }: Tables): Outputs {
  return {
    SubscriptionsTable: [subscriptions.name, 'Table of queues and subscriptions'],
    DeliveriesTable: [deliveries.name, 'Table of messages, deliveries and recoveries'],
  };
}
