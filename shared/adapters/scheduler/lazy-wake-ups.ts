import type { WakeUps } from '../../ports/wake-ups.ts';
import type { AwsAccess, Invocation } from '../aws/client-options.ts';
import { once } from '../lambda/on-demand.ts';
import type { ScheduleSettings } from './wake-ups.ts';

export function lazySchedules(
  aws: Invocation & AwsAccess,
  settings: ScheduleSettings,
): Pick<WakeUps, 'schedule'> {
  const schedules = once(async () => {
    const { schedulerClient, schedulerWakeUps } = await import('./wake-ups.ts');
    return schedulerWakeUps(schedulerClient(aws), settings);
  });
  return { schedule: async (name, at, wakeUp) => (await schedules()).schedule(name, at, wakeUp) };
}

export function lazyScheduleRemoval(
  aws: Invocation & AwsAccess,
  settings: Pick<ScheduleSettings, 'group'>,
): Pick<WakeUps, 'unschedule'> {
  const removal = once(async () => {
    const { schedulerClient, schedulerRemoval } = await import('./wake-ups.ts');
    return schedulerRemoval(schedulerClient(aws), settings);
  });
  return { unschedule: async (name) => (await removal()).unschedule(name) };
}
