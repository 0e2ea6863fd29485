import { Construct } from 'constructs';
import { type DeploymentSettings, parseSettings } from '../settings.ts';
import { Monitoring } from './monitoring.ts';
import { Pipeline } from './pipeline.ts';
import { State } from './state.ts';

export interface PosthasteProps {
  /** Made by `parseSettings`, which validates and completes them. @default all defaults */
  readonly settings?: DeploymentSettings;
}

/**
 * The whole of Posthaste, for use inside someone else's stack: publish by `pipeline.ingress.grantSend` and
 * `pipeline.ingress.url`, administer by `pipeline.administration.url`.
 */
export class Posthaste extends Construct {
  readonly state: State;
  readonly pipeline: Pipeline;

  constructor(scope: Construct, id: string, props: PosthasteProps = {}) {
    super(scope, id);
    const settings = props.settings ?? parseSettings({});
    this.state = new State(this, 'State', { settings });
    this.pipeline = new Pipeline(this, 'Pipeline', { settings, state: this.state });
    new Monitoring(this, 'Monitoring', { settings, pipeline: this.pipeline });
  }
}
