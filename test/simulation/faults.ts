import { chanceAt } from '../support/chance.ts';
import type { Scenario } from './scenario.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';

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

export type Faults = {
  /** Everything injected so far, in order. */
  readonly injected: readonly Fault[];
  /**
   * The fault at this place, if any. A place is named once per run. `partition`: what the call accesses; called only
   * during throttling.
   */
  strikeCall(
    name: string,
    kinds: readonly CallFault[],
    partition: () => string | undefined,
  ): (Fault & { kind: CallFault }) | undefined;
  strikeMessage(name: string, kinds: readonly MessageFault[]): (Fault & { kind: MessageFault }) | undefined;
  /** A number uniform in [0, 1), fixed by the name and the seed. */
  chance(name: string): number;
};

/** The faults of a scenario. `spared`: places without faults in this run. */
export const injectFaults = (
  scenario: Scenario,
  time: VirtualClock,
  excluded: ReadonlySet<string>,
): Faults => {
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
    injected,
    strikeCall: (name, kinds, partition) =>
      throttled(name, partition) ?? strike(name, kinds, scenario.rates.calls),
    strikeMessage: (name, kinds) => strike(name, kinds, scenario.rates.messages),
    chance: (name) => chanceAt(scenario.seed + 2, name),
  };
};

/** An AWS error as the SDK throws it. */
export class InjectedError extends Error {
  override readonly name = 'InjectedError';
  constructor(fault: Fault) {
    super(`${fault.kind} at ${fault.name}`);
  }
}
