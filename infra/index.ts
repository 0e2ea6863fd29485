/** The constructs of Posthaste, for CDK apps: `import { Posthaste } from 'posthaste'`. */
export { Posthaste, type PosthasteProps } from './constructs/posthaste.ts';
export { State, type StateProps } from './constructs/state/state.ts';
export { Pipeline, type PipelineProps } from './constructs/pipeline.ts';
export { Monitoring } from './constructs/monitoring/monitoring.ts';
export type { MonitoringProps } from './constructs/monitoring/metrics.ts';
export type { Network } from './constructs/functions/network-placement.ts';
export { SettingsError } from './settings.ts';
