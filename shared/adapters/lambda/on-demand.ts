import type { AwsAccess, Invocation } from '../aws/client-options.ts';
import type { EventBusSettings } from '../eventbridge/operator-events.ts';
import type { ScheduleSettings } from '../scheduler/wake-ups.ts';
import type { OperatorEvents } from '../../ports/journal.ts';
import type { Payloads, ReferencedData } from '../../ports/bodies.ts';
import type { WakeUps } from '../../ports/wake-ups.ts';

/**
 * Ports that only rare paths need. Their adapters and clients are in separate bundle files, loaded by the first
 * call, so that they do not delay the cold start.
 */

type Aws = Invocation & AwsAccess;

function once<Adapter>(load: () => Promise<Adapter>): () => Promise<Adapter> {
  let loaded: Promise<Adapter> | undefined;
  return () => (loaded ??= load());
}

export function lazyPayloads(aws: Aws, bucket: string): Payloads {
  const payloads = once(async () => {
    const { s3Client, s3Payloads } = await import('../s3/payloads.ts');
    return s3Payloads(s3Client(aws), bucket);
  });
  return {
    put: async (payloadKey, message) => (await payloads()).put(payloadKey, message),
    get: async (payloadKey) => (await payloads()).get(payloadKey),
    remove: async (payloadKey) => (await payloads()).remove(payloadKey),
    removeAll: async (message) => (await payloads()).removeAll(message),
  };
}

export function lazyReferencedData(aws: Aws): ReferencedData {
  const referencedData = once(async () => {
    const [{ s3Client }, { s3ReferencedData }] = await Promise.all([
      import('../s3/payloads.ts'),
      import('../s3/referenced-data.ts'),
    ]);
    return s3ReferencedData(s3Client(aws));
  });
  return { read: async (reference, owner) => (await referencedData()).read(reference, owner) };
}

export function lazySchedules(aws: Aws, settings: ScheduleSettings): Pick<WakeUps, 'schedule'> {
  const schedules = once(async () => {
    const { schedulerClient, schedulerWakeUps } = await import('../scheduler/wake-ups.ts');
    return schedulerWakeUps(schedulerClient(aws), settings);
  });
  return { schedule: async (name, at, wakeUp) => (await schedules()).schedule(name, at, wakeUp) };
}

export function lazyScheduleRemoval(
  aws: Aws,
  settings: Pick<ScheduleSettings, 'group'>,
): Pick<WakeUps, 'unschedule'> {
  const removal = once(async () => {
    const { schedulerClient, schedulerRemoval } = await import('../scheduler/wake-ups.ts');
    return schedulerRemoval(schedulerClient(aws), settings);
  });
  return { unschedule: async (name) => (await removal()).unschedule(name) };
}

export function lazyOperatorEvents(aws: Aws, settings: EventBusSettings): OperatorEvents {
  const operatorEvents = once(async () => {
    const { eventBridgeClient, eventBridgeOperatorEvents } =
      await import('../eventbridge/operator-events.ts');
    return eventBridgeOperatorEvents(eventBridgeClient(aws), settings);
  });
  return { publish: async (event) => (await operatorEvents()).publish(event) };
}
