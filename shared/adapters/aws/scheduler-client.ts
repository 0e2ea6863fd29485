import { SchedulerClient, type SchedulerClientConfig } from '@aws-sdk/client-scheduler';
import { bounded, type ClientOptions } from './sdk-client.ts';

export const schedulerClient = ({
  deadline,
  journal,
  ...config
}: ClientOptions<SchedulerClientConfig> = {}): SchedulerClient =>
  new SchedulerClient({ ...bounded('scheduler', { deadline, journal }), ...config });
