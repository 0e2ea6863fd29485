import { type App, type Environment, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Monitoring } from './constructs/monitoring/monitoring.ts';
import { referToOutputs } from './constructs/newer-cdk.ts';
import { Pipeline } from './constructs/pipeline.ts';
import { State } from './constructs/state/state.ts';
import { parseSettings } from './settings.ts';

export type Stacks = { state: StateStack; pipeline: PipelineStack; monitoring: MonitoringStack };

/**
 * Creates the three stacks of a deployment in an app without constructs. The stack with data is separate from those that
 * change with each release. It and the pipeline are protected against deletion, except with `local`.
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
  const kept = { env, terminationProtection: !local };
  const state = new StateStack(app, `${deployment}State`, kept);
  const pipeline = new PipelineStack(app, `${deployment}Pipeline`, { ...kept, state: state.state });
  const monitoring = new MonitoringStack(app, `${deployment}Monitoring`, {
    env,
    pipeline: pipeline.pipeline,
  });
  return { state, pipeline, monitoring };
}

/** Data that must survive every release: tables and payloads. */
class StateStack extends Stack {
  readonly state: State;

  constructor(scope: Construct, id: string, props: StackProps) {
    super(scope, id, { description: 'Posthaste: tables, payloads and keys', ...props });
    this.state = new State(this, 'State');
  }
}

/** Queues, functions, schedules and the API. */
class PipelineStack extends Stack {
  readonly pipeline: Pipeline;

  constructor(scope: Construct, id: string, { state, ...props }: StackProps & { state: State }) {
    super(scope, id, { description: 'Posthaste: queues, functions, schedules and the API', ...props });
    this.pipeline = new Pipeline(this, 'Pipeline', { state });
  }
}

/** Dashboard, alarms and saved queries. Can be deleted and deployed again at any time. */
class MonitoringStack extends Stack {
  constructor(scope: Construct, id: string, { pipeline, ...props }: StackProps & { pipeline: Pipeline }) {
    super(scope, id, { description: 'Posthaste: dashboard, alarms and saved log queries', ...props });
    referToOutputs(this);
    new Monitoring(this, 'Monitoring', { pipeline });
  }
}
