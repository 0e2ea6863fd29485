import type { Invocation } from '../shared/adapters/aws/service-options.ts';
import type { EventBusSettings } from '../shared/adapters/eventbridge-operator-events.ts';
import type { ScheduleSettings } from '../shared/adapters/scheduler-wake-ups.ts';
import type { OperatorEvents } from '../shared/ports/operator-events.ts';
import type { Payloads } from '../shared/ports/payloads.ts';
import type { ReferencedData } from '../shared/ports/referenced-data.ts';
import type { WakeUps } from '../shared/ports/wake-ups.ts';

/**
 * Ports that only rare paths need. Their adapters and the clients under them are in files of their own, which are loaded by
 * the first call: a start does not wait for them.
 */

const once = <Adapter>(load: () => Promise<Adapter>): (() => Promise<Adapter>) => {
  let loaded: Promise<Adapter> | undefined;
  return () => (loaded ??= load());
};

export const laterPayloads = (aws: Invocation, bucket: string): Payloads => {
  const payloads = once(async () => {
    const [{ s3Client }, { s3Payloads }] = await Promise.all([
      import('../shared/adapters/aws/s3-client.ts'),
      import('../shared/adapters/s3-payloads.ts'),
    ]);
    return s3Payloads(s3Client(aws), bucket);
  });
  return {
    put: async (payloadKey, message) => (await payloads()).put(payloadKey, message),
    get: async (payloadKey) => (await payloads()).get(payloadKey),
    remove: async (payloadKey) => (await payloads()).remove(payloadKey),
    removeAll: async (message) => (await payloads()).removeAll(message),
  };
};

export const laterReferencedData = (aws: Invocation): ReferencedData => {
  const referencedData = once(async () => {
    const [{ s3Client }, { s3ReferencedData }] = await Promise.all([
      import('../shared/adapters/aws/s3-client.ts'),
      import('../shared/adapters/s3-referenced-data.ts'),
    ]);
    return s3ReferencedData(s3Client(aws));
  });
  return { read: async (reference, owner) => (await referencedData()).read(reference, owner) };
};

const scheduling = () =>
  Promise.all([
    import('../shared/adapters/aws/scheduler-client.ts'),
    import('../shared/adapters/scheduler-wake-ups.ts'),
  ]);

export const laterSchedules = (aws: Invocation, settings: ScheduleSettings): Pick<WakeUps, 'schedule'> => {
  const schedules = once(async () => {
    const [{ schedulerClient }, { schedulerWakeUps }] = await scheduling();
    return schedulerWakeUps(schedulerClient(aws), settings);
  });
  return { schedule: async (name, at, wakeUp) => (await schedules()).schedule(name, at, wakeUp) };
};

export const laterRemoval = (
  aws: Invocation,
  settings: Pick<ScheduleSettings, 'group'>,
): Pick<WakeUps, 'unschedule'> => {
  const removal = once(async () => {
    const [{ schedulerClient }, { schedulerRemoval }] = await scheduling();
    return schedulerRemoval(schedulerClient(aws), settings);
  });
  return { unschedule: async (name) => (await removal()).unschedule(name) };
};

export const laterOperatorEvents = (aws: Invocation, settings: EventBusSettings): OperatorEvents => {
  const operatorEvents = once(async () => {
    const [{ eventBridgeClient }, { eventBridgeOperatorEvents }] = await Promise.all([
      import('../shared/adapters/aws/eventbridge-client.ts'),
      import('../shared/adapters/eventbridge-operator-events.ts'),
    ]);
    return eventBridgeOperatorEvents(eventBridgeClient(aws), settings);
  });
  return { publish: async (event) => (await operatorEvents()).publish(event) };
};
