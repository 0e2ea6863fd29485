/** The constructs of Posthaste, for CDK apps: `import { Posthaste } from 'posthaste'`. */
import './cdk-version.ts';

export { Posthaste } from './constructs/posthaste.ts';
export { State } from './constructs/state/state.ts';
export { Pipeline, type PipelineProps } from './constructs/pipeline.ts';
export { Monitoring, type MonitoringProps } from './constructs/monitoring/monitoring.ts';
export { WorkerService, type WorkerServiceProps } from './constructs/worker-service.ts';
export type { AdministerOptions } from './constructs/api/administration-api.ts';
export type { Network } from './constructs/functions/network.ts';
export type { PayloadSource } from './deployment-settings.ts';
export type { PosthasteProps } from './posthaste-props.ts';
export { SettingsError } from './settings.ts';
export type { WorkerStep } from '../shared/config/rules.ts';
export type { PartialRetryPolicy, RetryPolicy } from '../shared/domain/retry/policy.ts';
export type { PresetName } from '../shared/domain/retry/vocabulary.ts';
