import { CfnOutput } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

type Tables = Readonly<Record<'subscriptions' | 'deliveries', { readonly name: string }>>;

export type Outputs = Readonly<Record<string, readonly [value: string, description: string]>>;

/**
 * Adds outputs, except those that the scope has already. The command finds a deployment by them. In a stack they have
 * these names exactly, below a construct CloudFormation's names have its path before and a hash behind.
 */
export function addOutputs(scope: Construct, outputs: Outputs): void {
  for (const [name, [value, description]] of Object.entries(outputs))
    if (scope.node.tryFindChild(name) === undefined) new CfnOutput(scope, name, { value, description });
}

/** Those of the state that the command reads. */
export function tableOutputs({ subscriptions, deliveries }: Tables): Outputs {
  return {
    SubscriptionsTable: [subscriptions.name, 'Table of queues and subscriptions'],
    DeliveriesTable: [deliveries.name, 'Table of messages, deliveries and recoveries'],
  };
}
