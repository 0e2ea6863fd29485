import { Construct } from 'constructs';
import { type DeploymentSettings, parseSettings } from '../settings.ts';
import { Monitoring } from './monitoring/monitoring.ts';
import type { Network } from './functions/network-placement.ts';
import { addOutputs } from './outputs.ts';
import { Pipeline } from './pipeline.ts';
import { State } from './state/state.ts';

export interface PosthasteProps {
  /** From `parseSettings`, which validates and completes them. @default all defaults */
  readonly settings?: DeploymentSettings;
  /** An existing network that requests to subscribers leave from. @default as the settings say */
  readonly network?: Network;
}

/**
 * The whole of Posthaste, for use inside another stack. Producers publish with `pipeline.queues.ingress.grantSend` and
 * `.url`; rules and topics target `pipeline.queues.ingress.sqs`. The API is at `pipeline.administration.url`.
 */
export class Posthaste extends Construct {
  readonly state: State;
  readonly pipeline: Pipeline;

  constructor(scope: Construct, id: string, props: PosthasteProps = {}) {
    super(scope, id);
    const settings = props.settings ?? parseSettings({});
    this.state = new State(this, 'State', { settings });
    this.pipeline = new Pipeline(this, 'Pipeline', {
      settings,
      state: this.state,
      network: props.network,
    });
    new Monitoring(this, 'Monitoring', {
      settings,
      state: this.state,
      pipeline: this.pipeline,
    });
    // The command looks for it when no stacks have the name of the deployment.
    addOutputs(this, { PosthasteDeployment: [settings.deployment, 'Name of this deployment of Posthaste'] });
  }
}
