import { type App, type Environment, Stack } from 'aws-cdk-lib';
import { Monitoring } from './constructs/monitoring/monitoring.ts';
import { referToOutputs } from './constructs/newer-cdk.ts';
import { Pipeline } from './constructs/pipeline.ts';
import { State } from './constructs/state/state.ts';
import { parseSettings } from './settings.ts';

/**
 * `state`: data that must survive every release. `pipeline`: what changes with each. `monitoring` can be deleted and
 * deployed again at any time.
 */
export type Stacks = Record<'state' | 'pipeline' | 'monitoring', Stack>;

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
  const stacks = {
    state: new Stack(app, `${deployment}State`, {
      ...kept,
      description: 'Posthaste: tables, payloads and keys',
    }),
    pipeline: new Stack(app, `${deployment}Pipeline`, {
      ...kept,
      description: 'Posthaste: queues, functions, schedules and the API',
    }),
    monitoring: new Stack(app, `${deployment}Monitoring`, {
      env,
      description: 'Posthaste: dashboard, alarms and saved log queries',
    }),
  };
  referToOutputs(stacks.monitoring);
  const state = new State(stacks.state, 'State');
  const pipeline = new Pipeline(stacks.pipeline, 'Pipeline', { state });
  new Monitoring(stacks.monitoring, 'Monitoring', { pipeline });
  return stacks;
}
