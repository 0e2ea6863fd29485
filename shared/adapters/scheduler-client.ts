import { SchedulerClient, type SchedulerClientConfig } from '@aws-sdk/client-scheduler';
import { bounded, type ClientOptions } from './aws-clients.ts';

export const schedulerClient = ({
  deadline,
  journal,
  ...config
}: ClientOptions<SchedulerClientConfig> = {}): SchedulerClient =>
  new SchedulerClient({ ...bounded('scheduler', { deadline, journal }), ...config });
