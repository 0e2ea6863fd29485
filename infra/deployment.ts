import type { App, Environment } from 'aws-cdk-lib';
import type { DeploymentSettings } from './settings.ts';
import { MonitoringStack } from './stacks/monitoring-stack.ts';
import { PipelineStack } from './stacks/pipeline-stack.ts';
import { StateStack } from './stacks/state-stack.ts';

export type Stacks = { state: StateStack; pipeline: PipelineStack; monitoring: MonitoringStack };

/**
 * Creates the three stacks of a deployment. The stack with data is separate from those that change with each release.
 */
export function createStacks(app: App, settings: DeploymentSettings, env: Environment = {}): Stacks {
  const name = settings.deployment;
  const state = new StateStack(app, `${name}State`, { env, settings });
  const pipeline = new PipelineStack(app, `${name}Pipeline`, { env, settings, state: state.state });
  const monitoring = new MonitoringStack(app, `${name}Monitoring`, {
    env,
    settings,
    state: state.state,
    pipeline: pipeline.pipeline,
  });
  return { state, pipeline, monitoring };
}
