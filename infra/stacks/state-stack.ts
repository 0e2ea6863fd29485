import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { State } from '../constructs/state/state.ts';
import type { DeploymentSettings } from '../settings.ts';

export interface StateStackProps extends StackProps {
  readonly settings: DeploymentSettings;
}

/** Data that must survive every release: tables and payloads. Protected against deletion, except with `local`. */
export class StateStack extends Stack {
  readonly state: State;

  constructor(scope: Construct, id: string, props: StateStackProps) {
    super(scope, id, {
      description: 'Posthaste: tables, payloads and keys',
      terminationProtection: !props.settings.local,
      ...props,
    });
    this.state = new State(this, 'State', { settings: props.settings });
  }
}
