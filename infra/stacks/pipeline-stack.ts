import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Pipeline } from '../constructs/pipeline.ts';
import type { State } from '../constructs/state/state.ts';

export interface PipelineStackProps extends StackProps {
  readonly state: State;
}

/** Queues, functions, schedules and the API. */
export class PipelineStack extends Stack {
  readonly pipeline: Pipeline;

  constructor(scope: Construct, id: string, { state, ...props }: PipelineStackProps) {
    super(scope, id, { description: 'Posthaste: queues, functions, schedules and the API', ...props });
    this.pipeline = new Pipeline(this, 'Pipeline', { state });
  }
}
