import type { DeploymentSettings } from '../../settings.ts';
import type { Pipeline } from '../pipeline.ts';
import type { State } from '../state/state.ts';

export interface MonitoringProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly pipeline: Pipeline;
}
