import {
  apply,
  type Delivery,
  type NextAttempt,
  type Revision,
  type Transition,
} from '../../shared/domain/delivery/delivery.ts';
import { planSqsDelay } from '../../shared/domain/delivery/wake-up-plan.ts';
import type { Deliveries, WriteResult } from '../../shared/ports/deliveries.ts';
import type { MessageRecords } from '../../shared/ports/messages.ts';
import { deliveryName } from './history.ts';
import type { StepPorts } from './ports.ts';
import type { Sabotage } from './simulated-world.ts';

type Write = Deliveries['write'];

const isRevision = (transition: Transition): transition is Revision => 'change' in transition;

/** The port's methods as own properties, which a proxy does not have. */
const portOf = (port: Deliveries): Deliveries => ({
  write: (transition) => port.write(transition),
  find: (key) => port.find(key),
  overdue: (before, limit) => port.overdue(before, limit),
  waiting: (subscription, before, limit) => port.waiting(subscription, before, limit),
});

/** The ports with a replaced delivery write. */
export const withWrite = (ports: StepPorts, write: Write): StepPorts => ({
  ...ports,
  deliveries: { ...portOf(ports.deliveries), write },
});

const written = (delivery: Delivery | undefined): WriteResult =>
  delivery === undefined ? { kind: 'refused', current: undefined } : { kind: 'written', delivery };

/** The step believes that it holds a lease, but the record has none and refuses no claim. */
export const noLease: Sabotage = {
  ports: (ports) =>
    withWrite(ports, async (transition) => {
      const wanted = isRevision(transition) ? transition.change.lease : transition.create.lease;
      const result = await ports.deliveries.write(leaseless(transition));
      return result.kind === 'written' && wanted !== undefined && wanted !== null
        ? { ...result, delivery: { ...result.delivery, lease: wanted } }
        : result;
    }),
};

const leaseless = (transition: Transition): Transition => {
  if (!isRevision(transition)) return { ...transition, create: { ...transition.create, lease: undefined } };
  const { expect, change } = transition;
  return {
    ...transition,
    expect:
      expect.kind === 'leased' ? { kind: 'claimable', recorded: expect.recorded, now: Infinity } : expect,
    change: { ...change, lease: null },
  };
};

/** The wake-up is sent before the record is written. */
export const wakeUpBeforeRecord: Sabotage = {
  ports: (ports) => {
    let sent: number | undefined;
    const unlessSent = async <T>(attempt: number, instead: T, send: () => Promise<T>): Promise<T> =>
      attempt === sent ? instead : await send();
    const { wakeUps, clock } = ports;
    const early: StepPorts = {
      ...ports,
      wakeUps: {
        sendDelayed: (wakeUp, delaySeconds) =>
          unlessSent(wakeUp.attempt, undefined, () => wakeUps.sendDelayed(wakeUp, delaySeconds)),
        schedule: (name, at, wakeUp) =>
          unlessSent<'scheduled' | 'refused'>(wakeUp.attempt, 'scheduled', () =>
            wakeUps.schedule(name, at, wakeUp),
          ),
        unschedule: (name) => wakeUps.unschedule(name),
      },
    };
    return withWrite(early, async (transition) => {
      const next = isRevision(transition) && transition.name === 'record' ? nextOf(transition) : undefined;
      if (next !== undefined && next.by !== 'same_invocation') {
        const wakeUp = {
          kind: 'wake_up' as const,
          key: transition.key,
          attempt: next.number,
          dueAt: next.dueAt,
        };
        await wakeUps.sendDelayed(wakeUp, planSqsDelay(next.dueAt, clock.now()).delaySeconds);
        sent = next.number;
        // Time for the wake-up to be received and planned.
        await clock.sleep(1_000);
      }
      return await ports.deliveries.write(transition);
    });
  },
};

const nextOf = ({ change }: Revision): NextAttempt | undefined =>
  'next' in change ? change.next : undefined;

/** The message is acknowledged before its result is recorded. */
export const acknowledgeBeforeRecord: Sabotage = {
  ports: (ports, { acknowledge }) =>
    withWrite(ports, async (transition) => {
      if (transition.name === 'record') acknowledge();
      return await ports.deliveries.write(transition);
    }),
};

/** A wake-up without an attempt number stands for the next attempt. */
export const noAttemptNumber: Sabotage = {
  work: (work, deliveries) =>
    work.kind !== 'wake_up'
      ? work
      : { ...work, attempt: (deliveries.find(deliveryName(work.key))?.attempts.length ?? 0) + 1 },
};

/** The pending steps of a finished delivery are not recorded. */
export const pendingStepsNotRecorded: Sabotage = {
  ports: (ports, { deliveries }) =>
    withWrite(ports, async (transition) => {
      const change = isRevision(transition) ? transition.change : undefined;
      if (!isRevision(transition) || change === undefined || !('pendingSteps' in change))
        return await ports.deliveries.write(transition);
      const stored = deliveries.find(deliveryName(transition.key));
      if (transition.name === 'settle') return written(stored && apply(change, stored));
      const result = await ports.deliveries.write({
        ...transition,
        change: { ...change, pendingSteps: [], overdueAt: null },
      });
      return result.kind === 'written' ? { ...result, delivery: apply(change, result.delivery) } : result;
    }),
};

/** All wake-ups of an attempt share one schedule name, regardless of the due time. */
export const scheduleNamesWithoutDueTime: Sabotage = {
  ports: (ports) => ({
    ...ports,
    wakeUps: {
      sendDelayed: (wakeUp, delaySeconds) => ports.wakeUps.sendDelayed(wakeUp, delaySeconds),
      schedule: (name, at, wakeUp) => ports.wakeUps.schedule(name.replace(/-[0-9]+$/, ''), at, wakeUp),
      unschedule: (name) => ports.wakeUps.unschedule(name.replace(/-[0-9]+$/, '')),
    },
  }),
};

/** Reconcile does not postpone what it wakes. */
export const indexKeyNotMoved: Sabotage = {
  ports: (ports, { deliveries }) =>
    withWrite(ports, async (transition) =>
      transition.name === 'postpone'
        ? written(deliveries.find(deliveryName(transition.key)))
        : await ports.deliveries.write(transition),
    ),
};

/** A late success is only stored. */
export const lateSuccessDoesNotWin: Sabotage = {
  ports: (ports) =>
    withWrite(ports, (transition) => {
      if (!isRevision(transition) || transition.name !== 'record_late')
        return ports.deliveries.write(transition);
      const { appendLateResult, updatedAt, expiresAt } = transition.change;
      const change = {
        updatedAt,
        ...(expiresAt === undefined ? {} : { expiresAt }),
        ...(appendLateResult === undefined ? {} : { appendLateResult }),
      };
      return ports.deliveries.write({ ...transition, change });
    }),
};

/** A delivery does not store which recoveries reopened it. */
export const recoveryForgotten: Sabotage = {
  ports: (ports, { deliveries }) => ({
    ...ports,
    deliveries: {
      ...portOf(ports.deliveries),
      find: (key) => {
        const found = deliveries.find(deliveryName(key));
        return Promise.resolve(found && { ...found, recoveries: [] });
      },
    },
  }),
};

/** A fault between claim and request does not release the lease, so it counts as a lost request. */
export const leaseKeptOnFault: Sabotage = {
  ports: (ports, { deliveries }) =>
    withWrite(ports, (transition) =>
      transition.name === 'release'
        ? Promise.resolve(written(deliveries.find(deliveryName(transition.key))))
        : ports.deliveries.write(transition),
    ),
};

/** Messages are sent without their group, so the queues are not fair. */
export const groupsForgotten: Sabotage = { groupOf: () => undefined };

/** The ports with replaced message record methods. */
export const withRecords = (
  ports: StepPorts,
  change: (records: MessageRecords) => Partial<MessageRecords>,
): StepPorts => {
  const { messageRecords } = ports;
  const records: MessageRecords = {
    accept: (record, sentAt) => messageRecords.accept(record, sentAt),
    addPart: (record, next) => messageRecords.addPart(record, next),
    find: (key) => messageRecords.find(key),
    keepBody: (message, body, until) => messageRecords.keepBody(message, body, until),
    eraseBody: (key, at) => messageRecords.eraseBody(key, at),
  };
  return { ...ports, messageRecords: { ...records, ...change(records) } };
};

/** The ports with bodies that are stored only when `keep` is called. */
const withBodiesKeptLate = (ports: StepPorts): { late: StepPorts; keep: () => Promise<unknown> } => {
  let keep = (): Promise<unknown> => Promise.resolve();
  const late = withRecords(ports, (records) => ({
    keepBody: (...args) => {
      keep = () => records.keepBody(...args);
      return Promise.resolve('kept');
    },
  }));
  return { late, keep: () => keep() };
};

/** A failure is recorded before its message is stored. */
export const bodyKeptAfterRecord: Sabotage = {
  ports: (ports) => {
    const { late, keep } = withBodiesKeptLate(ports);
    return withWrite(late, async (transition) => {
      const result = await ports.deliveries.write(transition);
      if (transition.name === 'record') await keep();
      return result;
    });
  },
};

/** A takeover of a first attempt does not store the message. */
export const takenOverWithoutMessage: Sabotage = {
  ports: (ports) => {
    const { late, keep } = withBodiesKeptLate(ports);
    return withWrite(late, async (transition) => {
      if (transition.name !== 'take_over') await keep();
      return await ports.deliveries.write(transition);
    });
  },
};

/** The record hides the erasure from steps that would store a body. */
export const erasureIgnored: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      find: async (key) => {
        const record = await records.find(key);
        if (record === undefined) return undefined;
        const { erasedAt: _hidden, ...visible } = record;
        return visible;
      },
      keepBody: async (...args) => {
        await records.keepBody(...args);
        return 'kept';
      },
    })),
};
