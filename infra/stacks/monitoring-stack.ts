import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Monitoring } from '../constructs/monitoring/monitoring.ts';
import { referToOutputs } from '../constructs/newer-cdk.ts';
import type { Pipeline } from '../constructs/pipeline.ts';

export interface MonitoringStackProps extends StackProps {
  readonly pipeline: Pipeline;
}

/** Dashboard, alarms and saved queries. Can be deleted and deployed again at any time. */
export class MonitoringStack extends Stack {
  constructor(scope: Construct, id: string, { pipeline, ...props }: MonitoringStackProps) {
    super(scope, id, { description: 'Posthaste: dashboard, alarms and saved log queries', ...props });
    referToOutputs(this);
    new Monitoring(this, 'Monitoring', { pipeline });
  }
}
