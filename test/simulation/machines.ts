import { render } from '../../shared/domain/message/payload.ts';
import type { DeliverPorts, PendingCounts } from '../../functions/deliver/context.ts';
import { pendingCounts } from '../../functions/deliver/pressure.ts';
import { authSchema } from '../../shared/domain/subscription/auth.ts';
import {
  parseSecret,
  secretText,
  type SigningSecret,
} from '../../shared/domain/subscription/signing-secret.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { DeliveryQueue, Operations } from '../../shared/ports/queues.ts';
import type { SecretOpener, SecretSealer, Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import { inMemoryRecoveries } from '../support/in-memory/in-memory-recoveries.ts';
import { inMemoryCountingWindows, inMemoryRateLimits } from '../support/in-memory/in-memory-pace.ts';
import { faultyPorts } from './faulty-ports.ts';
import { type Actor, deliveryName, type Invocation } from './history.ts';
import type { StepPorts } from './ports.ts';
import { simulatedTokens } from './simulated-tokens.ts';
import { operationName, type SimulatedWorld, workName } from './simulated-world.ts';

/** A machine that runs functions, with a clock, a cache of subscriptions, and what it has counted. */
export type Machine = {
  clock: Pick<Clock, 'now'>;
  clockOffset: number;
  subscriptions: Subscriptions;
  pendingCounts: PendingCounts;
};

export const machinesOf = (world: SimulatedWorld): ((name: string) => Machine) => {
  const machines = Array.from({ length: world.scenario.machines }, (_, index): Machine => {
    const clockOffset = Math.round((world.faults.chance(`machine ${index}`) * 2 - 1) * world.scenario.skewMs);
    const clock = { now: () => world.time.now() + clockOffset };
    return {
      clock,
      clockOffset,
      subscriptions: world.subscriptions.portFor(clock, world.scenario.settings.cacheSeconds),
      pendingCounts: pendingCounts(),
    };
  });
  return (name) => {
    const machine = machines[Math.floor(world.faults.chance(`on ${name}`) * machines.length)];
    if (machine === undefined) throw new RangeError('there are no machines');
    return machine;
  };
};

/** An invocation and its machine. */
export type RunningInvocation = {
  world: SimulatedWorld;
  machine: Machine;
  invocation: Invocation;
  endsAt: number;
};

export const actorOf = (
  { world, machine, invocation }: RunningInvocation,
  name: string,
  owner: string,
): Actor => ({
  name,
  owner,
  invocation,
  startedAt: world.time.now(),
  clockOffset: machine.clockOffset,
  settings: world.settings,
});

/** The ports of a step, with a test's sabotage applied. */
export const portsOf = (
  world: SimulatedWorld,
  machine: Machine,
  actor: Actor,
  acknowledge: () => void,
): StepPorts => {
  const ports = stepPorts(world, actor, machine.subscriptions);
  const { deliveries, messages, sabotage } = world;
  const context = { actor, acknowledge, deliveries, countMatch: messages.countMatch };
  return sabotage.ports?.(ports, context) ?? ports;
};

/** A key takes longer to read than to sign with. */
const OPENED = new Map<string, SigningSecret>();

/** Secrets are stored as plain text; only failures of opening them are simulated. */
const SECRETS: SecretOpener & SecretSealer = {
  seal: (_owner, secret) => Promise.resolve(secretText(secret)),
  sealAuth: (_owner, auth) => Promise.resolve(JSON.stringify(auth)),
  openAuth: (_owner, sealed) => Promise.resolve(authSchema.parse(JSON.parse(sealed))),
  open: (owner, sealed) => {
    const secret = OPENED.get(sealed) ?? parseSecret(sealed);
    if (secret !== undefined) OPENED.set(sealed, secret);
    return secret === undefined
      ? Promise.reject(new Error(`no secret of ${owner.subscriptionId}`))
      : Promise.resolve(secret);
  },
};

/** All ports of the world for one actor: with its clock, its faults and its name in the history. */
const stepPorts = (
  world: SimulatedWorld,
  actor: Actor,
  subscriptions: DeliverPorts['subscriptions'],
): StepPorts => {
  const { time, history } = world;
  const faulty = faultyPorts(actor, world);
  const clock = {
    now: () => time.now() + actor.clockOffset,
    sleep: (milliseconds: number) =>
      new Promise<void>((resolve) => {
        time.at(time.now() + milliseconds, resolve);
      }),
  };
  return {
    clock: faultyClock(clock, faulty('clock', clock)),
    deliveries: faulty('deliveries', world.deliveries.portFor(actor)),
    chunks: faulty('chunks', world.deliveries.chunksFor(actor)),
    deliveryListings: faulty('deliveryListings', world.deliveries.listings),
    messageRecords: faulty('messageRecords', world.messages.recordsFor(actor)),
    payloads: faulty('payloads', world.messages.payloads),
    subscriptions: faulty('subscriptions', subscriptions),
    rateLimits: faulty('rateLimits', inMemoryRateLimits(clock, world.lines)),
    countingWindows: faulty('countingWindows', inMemoryCountingWindows(world.countingWindows)),
    render,
    subscriber: faulty('subscriber', world.receivers.portFor(actor)),
    accessTokens: faulty('accessTokens', simulatedTokens(world, actor)),
    secretOpener: faulty('secretOpener', SECRETS),
    secretSealer: faulty('secretSealer', SECRETS),
    deliveryQueue: faulty('deliveryQueue', deliveryQueueOf(world)),
    registry: faulty('registry', world.subscriptions.registry),
    recoveries: faulty('recoveries', inMemoryRecoveries(world.recoveries, world.recoveryPages)),
    operations: faulty('operations', operationsOf(world)),
    wakeUps: faulty('wakeUps', wakeUpsOf(world, actor)),
    undeliverables: faulty('undeliverables', {
      send: ({ delivery }) =>
        Promise.resolve(
          void history.notices.push({ delivery: deliveryName(delivery.key), round: delivery.round }),
        ),
    }),
    operatorEvents: faulty('operatorEvents', {
      publish: (event) => Promise.resolve(void history.events.push(event)),
    }),
    deadLetters: faulty('deadLetters', {
      send: ({ id }, reason) =>
        Promise.resolve(void history.deadLetters.push({ reason, name: id, at: time.now() })),
    }),
    journal: { note: () => undefined },
  };
};

/** Reading the clock cannot fail; a crash can cut waiting short. */
const faultyClock = (clock: DeliverPorts['clock'], faulty: DeliverPorts['clock']): DeliverPorts['clock'] => ({
  now: () => clock.now(),
  sleep: (milliseconds) => faulty.sleep(milliseconds),
});

const deliveryQueueOf = (world: SimulatedWorld): DeliveryQueue => ({
  send: (jobs, delaySeconds = 0) => {
    for (const job of jobs) world.queues.delivery.send(job, delaySeconds, workName(job));
    return Promise.resolve();
  },
});

const operationsOf = ({ queues }: SimulatedWorld): Operations => ({
  send: (operation, delaySeconds = 0) => {
    queues.operation.send(operation, delaySeconds, operationName(operation));
    return Promise.resolve();
  },
});

const wakeUpsOf = (world: SimulatedWorld, actor: Actor): WakeUps => {
  const note = (
    wakeUp: Parameters<WakeUps['sendDelayed']>[0],
    by: 'sqs_delay' | 'scheduler',
    existingDueAt?: number,
  ): void => {
    const { attempt, dueAt } = wakeUp;
    const delivery = deliveryName(wakeUp.key);
    const recorded = world.deliveries.find(wakeUp.key);
    world.history.wakeUps.push({
      at: world.time.now(),
      delivery,
      attempt,
      dueAt,
      by,
      actor,
      recorded,
      ...(existingDueAt === undefined ? {} : { existingDueAt }),
    });
  };
  return {
    sendDelayed: (wakeUp, delaySeconds) => {
      note(wakeUp, 'sqs_delay');
      world.queues.retry.send(wakeUp, delaySeconds, workName(wakeUp));
      return Promise.resolve();
    },
    schedule: (name, at, wakeUp) => {
      const isTaken = world.scheduler.create(name, at, wakeUp) === 'conflict';
      note(wakeUp, 'scheduler', isTaken ? world.scheduler.find(name)?.dueAt : undefined);
      return Promise.resolve('scheduled');
    },
    unschedule: (name) => Promise.resolve(world.scheduler.delete(name)),
  };
};
