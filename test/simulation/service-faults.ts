import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import type { QueueFaults } from '../support/modelled-sqs.ts';
import type { Faults, MessageFault } from './faults.ts';
import { DAY, HOUR, MINUTE, SECOND, START, type QueueName, type Scenario } from './scenario.ts';

const MOST_IN_BATCH = 10;

/**
 * What goes wrong in a queue of a scenario. `sending`: with the messages that are sent to it. SQS never loses one; here
 * wake-ups may be lost, because reconcile is there for it.
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
    batchSize: (label) => 1 + Math.floor(faults.chance(`batch ${label}`) * MOST_IN_BATCH),
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

/** From no time to as long as SQS keeps a message. */
function latenessOf(faults: Faults, label: string): number {
  const bounds = [SECOND, SECOND, 30 * SECOND, 30 * SECOND, 10 * MINUTE, HOUR, 3 * DAY];
  const bound = bounds[Math.floor(faults.chance(`${label} bound`) * bounds.length)] ?? SECOND;
  return Math.floor(faults.chance(`${label} late`) * bound);
}

/** How long after its time a schedule fires. */
export function scheduleLateness(faults: Faults, { key, attempt }: WakeUp): number {
  const place = `schedule ${key.messageId}/${key.subscriptionId}/${attempt}`;
  const most = faults.strikeMessage(place, ['schedule_late']) === undefined ? MINUTE : 2 * HOUR;
  return Math.floor(faults.chance(place) * most);
}
