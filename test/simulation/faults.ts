import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import { chanceAt } from '../support/chance.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';
import type { QueueFaults } from '../support/modelled-sqs.ts';
import { DAY, HOUR, MINUTE, type QueueName, type Scenario, SECOND, START } from './scenario.ts';

/** Faults of a call to a port. */
export type CallFault =
  /** An error without an effect. */
  | 'failed_before'
  /** The call took effect, and its response was lost. */
  | 'failed_after'
  | 'slow'
  | 'throttled'
  /** The function crashes without an effect. */
  | 'killed_before'
  /** The function crashes after the call took effect. */
  | 'killed_after'
  /** Only part of a batch was sent. */
  | 'sent_in_part';

/** Faults of a message in a queue, or of a schedule. */
export type MessageFault =
  | 'duplicated'
  | 'delayed'
  | 'lost'
  | 'received_twice'
  | 'acknowledgement_lost'
  | 'short_of_time'
  | 'schedule_late'
  /** An index that lags behind its table. */
  | 'index_behind';

export type FaultKind = CallFault | MessageFault;

/** An injected fault. `partition`: the throttled partition. */
export type Fault = { name: string; kind: FaultKind; at: number; partition?: string };

export type Faults = ReturnType<typeof injectFaults>;

/** The faults of a scenario. `excluded`: places without faults in this run. */
export const injectFaults = (scenario: Scenario, time: VirtualClock, excluded: ReadonlySet<string>) => {
  const injected: Fault[] = [];
  const calmAt = time.now() + scenario.calmAt;
  const throttles = scenario.throttles.map(({ partition, from, to }) => ({
    partition,
    from: time.now() + from,
    to: Math.min(time.now() + to, calmAt),
  }));

  const strike = <K extends FaultKind>(name: string, kinds: readonly K[], rate: number) => {
    if (time.now() >= calmAt || chanceAt(scenario.seed, name) >= rate || excluded.has(name)) return undefined;
    const kind = kinds[Math.floor(chanceAt(scenario.seed + 1, name) * kinds.length)];
    if (kind === undefined) return undefined;
    const fault = { name, kind, at: time.now() };
    injected.push(fault);
    return fault;
  };

  const throttled = (name: string, partition: () => string | undefined) => {
    const now = time.now();
    const refusing = throttles.filter(({ from, to }) => now >= from && now < to);
    if (refusing.length === 0 || excluded.has(name)) return undefined;
    const touched = partition();
    if (touched === undefined || refusing.every((one) => one.partition !== touched)) return undefined;
    const fault = { name, kind: 'throttled' as const, at: now, partition: touched };
    injected.push(fault);
    return fault;
  };

  return {
    /** Everything injected so far, in order. */
    injected,
    /**
     * The fault at this place, if any. A place is named once per run. `partition`: what the call accesses; called only
     * during throttling.
     */
    strikeCall: (name: string, kinds: readonly CallFault[], partition: () => string | undefined) =>
      throttled(name, partition) ?? strike(name, kinds, scenario.rates.calls),
    strikeMessage: (name: string, kinds: readonly MessageFault[]) =>
      strike(name, kinds, scenario.rates.messages),
    /** A number uniform in [0, 1), fixed by the name and the seed. */
    chance: (name: string): number => chanceAt(scenario.seed + 2, name),
  };
};

/** An AWS error as the SDK throws it. */
export class InjectedError extends Error {
  override readonly name = 'InjectedError';
  constructor(fault: Fault) {
    // Its place is in the message. A stack trace of each fault would take longer than most calls.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(`${fault.kind} at ${fault.name}`);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

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
