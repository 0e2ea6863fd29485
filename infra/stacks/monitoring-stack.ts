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

/** What an operator looks at. It only reads, so it can be deleted and deployed again at any time. */
export class MonitoringStack extends Stack {
  constructor(scope: Construct, id: string, props: MonitoringStackProps) {
    super(scope, id, { description: 'Posthaste: what an operator looks at', ...props });
    // It reads the names of what it watches from the other stacks' outputs, so that it never keeps them from replacing
    // something. They export them as well for one more release: the version before still imports them while this one deploys.
    CrossStackReferences.of(this).consume(ReferenceStrength.BOTH);
    Validations.of(this).acknowledge({
      id: 'Annotation::@aws-cdk/core:crossStackReferencesBothTransitional',
      reason: 'Until the release after the first one that does not import.',
    });
    const { settings, state, pipeline } = props;
    new Monitoring(this, 'Monitoring', { settings, state, pipeline });
  }
}
