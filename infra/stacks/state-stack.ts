import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { State } from '../constructs/state/state.ts';

/** Data that must survive every release: tables and payloads. */
export class StateStack extends Stack {
  readonly state: State;

  constructor(scope: Construct, id: string, props: StackProps) {
    super(scope, id, { description: 'Posthaste: tables, payloads and keys', ...props });
    this.state = new State(this, 'State');
  }
}
