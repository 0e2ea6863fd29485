import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import type { QueueFaults } from '../support/modelled-sqs.ts';
import type { Faults, MessageFault } from './faults.ts';
import { DAY, HOUR, MINUTE, SECOND, START, type QueueName, type Scenario } from './scenario.ts';

const MAX_BATCH_SIZE = 10;

/**
 * The faults of a queue. `sending`: faults of sent messages. SQS never loses a message; here wake-ups may be lost,
 * because reconcile covers them.
 */
export function queueFaults(
  queue: QueueName,
  { standstills }: Pick<Scenario, 'standstills'>,
  { faults, sending }: { faults: Faults; sending: readonly MessageFault[] },
): QueueFaults {
  const sent = new Map<string, number>();
  return {
    copiesOf: (given) => {
      const copy = (sent.get(given) ?? 0) + 1;
      sent.set(given, copy);
      const label = `${queue}:${given}~${copy}`;
      const fault = faults.strikeMessage(label, sending)?.kind;
      if (fault === 'lost') return [];
      const first = { label, laterMs: fault === 'delayed' ? latenessOf(faults, label) : 0 };
      const second = `${label}+`;
      return fault === 'duplicated'
        ? [{ label: second, laterMs: latenessOf(faults, second) }, first]
        : [first];
    },
    batchSize: (label) => 1 + Math.floor(faults.chance(`batch ${label}`) * MAX_BATCH_SIZE),
    closedUntil: (now) => {
      const found = standstills.find(
        (one) => one.queue === queue && now >= START + one.from && now < START + one.to,
      );
      return found && START + found.to;
    },
    seenAgainAfterMs: (receipt) =>
      faults.strikeMessage(`${receipt} twice`, ['received_twice']) === undefined
        ? undefined
        : Math.floor(faults.chance(`${receipt} again`) * 30 * SECOND),
    jitter: (receipt) => faults.chance(`${receipt} returned`),
    isAcknowledgementLost: (receipt) =>
      faults.strikeMessage(`${receipt} ack`, ['acknowledgement_lost']) !== undefined,
  };
}

/** Between zero and the retention of SQS, in milliseconds. */
function latenessOf(faults: Faults, label: string): number {
  const bounds = [SECOND, SECOND, 30 * SECOND, 30 * SECOND, 10 * MINUTE, HOUR, 3 * DAY];
  const bound = bounds[Math.floor(faults.chance(`${label} bound`) * bounds.length)] ?? SECOND;
  return Math.floor(faults.chance(`${label} late`) * bound);
}

/** How late a schedule fires, in milliseconds. */
export function scheduleLateness(faults: Faults, { key, attempt }: WakeUp): number {
  const place = `schedule ${key.messageId}/${key.subscriptionId}/${attempt}`;
  const most = faults.strikeMessage(place, ['schedule_late']) === undefined ? MINUTE : 2 * HOUR;
  return Math.floor(faults.chance(place) * most);
}
