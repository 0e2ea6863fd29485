import type { App, Environment } from 'aws-cdk-lib';
import { parseSettings } from './settings.ts';
import { MonitoringStack } from './stacks/monitoring-stack.ts';
import { PipelineStack } from './stacks/pipeline-stack.ts';
import { StateStack } from './stacks/state-stack.ts';

export type Stacks = { state: StateStack; pipeline: PipelineStack; monitoring: MonitoringStack };

/**
 * Creates the three stacks of a deployment in an app without constructs. The stack with data is separate from those that
 * change with each release, and protected against deletion, except with `local`.
 * @throws SettingsError
 */
export function createStacks(
  app: App,
  settings: Readonly<Record<string, unknown>>,
  env: Environment = {},
): Stacks {
  const { deployment, local } = parseSettings(settings);
  // Where the constructs look for settings that do not come from code.
  app.node.setContext('posthaste', settings);
  const state = new StateStack(app, `${deployment}State`, { env, terminationProtection: !local });
  const pipeline = new PipelineStack(app, `${deployment}Pipeline`, { env, state: state.state });
  const monitoring = new MonitoringStack(app, `${deployment}Monitoring`, {
    env,
    pipeline: pipeline.pipeline,
  });
  return { state, pipeline, monitoring };
}
