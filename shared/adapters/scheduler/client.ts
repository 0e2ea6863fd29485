import { SchedulerClient, type SchedulerClientConfig } from '@aws-sdk/client-scheduler';
import { clientOptions, type ClientOptions } from '../aws/client-options.ts';

export function schedulerClient({
  deadline,
  journal,
  ...config
}: ClientOptions<SchedulerClientConfig> = {}): SchedulerClient {
  return new SchedulerClient({ ...clientOptions('scheduler', { deadline, journal }), ...config });
}
