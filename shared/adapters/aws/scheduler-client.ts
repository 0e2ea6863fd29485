import { SchedulerClient, type SchedulerClientConfig } from '@aws-sdk/client-scheduler';
import { bounded, type ClientOptions } from './sdk-client.ts';

export function schedulerClient({
  deadline,
  journal,
  ...config
}: ClientOptions<SchedulerClientConfig> = {}): SchedulerClient {
  return new SchedulerClient({ ...bounded('scheduler', { deadline, journal }), ...config });
}
