import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Monitoring } from '../constructs/monitoring/monitoring.ts';
import type { Pipeline } from '../constructs/pipeline.ts';
import type { State } from '../constructs/state/state.ts';
import type { DeploymentSettings } from '../settings.ts';

export interface MonitoringStackProps extends StackProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly pipeline: Pipeline;
}

/** What an operator looks at. It only reads, so it can be deleted and deployed again at any time. */
export class MonitoringStack extends Stack {
  constructor(scope: Construct, id: string, props: MonitoringStackProps) {
    super(scope, id, { description: 'Posthaste: what an operator looks at', ...props });
    const { settings, state, pipeline } = props;
    new Monitoring(this, 'Monitoring', { settings, state, pipeline });
  }
}
