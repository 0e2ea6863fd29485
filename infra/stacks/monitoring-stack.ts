import { CrossStackReferences, ReferenceStrength, Stack, type StackProps, Validations } from 'aws-cdk-lib';
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

/** Dashboard, alarms and saved queries. Can be deleted and deployed again at any time. */
export class MonitoringStack extends Stack {
  constructor(scope: Construct, id: string, props: MonitoringStackProps) {
    super(scope, id, { description: 'Posthaste: dashboard, alarms and saved log queries', ...props });
    // Reads names from the outputs of the other stacks instead of importing exports, which would block replacements
    // there. The exports stay for one more release, because the previous version imports them during the deployment.
    CrossStackReferences.of(this).consume(ReferenceStrength.BOTH);
    Validations.of(this).acknowledge({
      id: 'Annotation::@aws-cdk/core:crossStackReferencesBothTransitional',
      reason: 'Needed until the release after the first one that does not import.',
    });
    const { settings, state, pipeline } = props;
    new Monitoring(this, 'Monitoring', { settings, state, pipeline });
  }
}
