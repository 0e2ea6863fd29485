import { makeSecret } from '../../shared/domain/subscription/signing-secret.ts';
import type { DeliverPorts } from '../../functions/deliver/context.ts';
import type { DeliveryQueue } from '../../shared/ports/queues.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import { inMemoryRateLimits } from '../support/in-memory/in-memory-rate-limits.ts';
import { faultyPorts } from './faulty-ports.ts';
import { deliveryName, type Actor } from './history.ts';
import type { StepPorts } from './ports.ts';
import { workName, type SimulatedWorld } from './simulated-world.ts';

/** Whose signature it is does not matter here; that it can fail to be had does. */
const SECRET = makeSecret('v1', (bytes) => new Uint8Array(bytes));

/** The world's ports, all that any of the steps asks for, as one actor has them: with its clock, its faults, and its name on what it does. */
export const stepPorts = (
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
    subscriber: faulty('subscriber', world.receivers.portFor(actor)),
    secretOpener: faulty('secretOpener', { open: () => Promise.resolve(SECRET) }),
    deliveryQueue: faulty('deliveryQueue', deliveryQueueOf(world)),
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
        Promise.resolve(void history.buried.push({ reason, name: id, at: time.now() })),
    }),
    journal: { note: () => undefined },
  };
};

/** Reading a clock cannot fail; waiting for it can be cut short. */
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

const wakeUpsOf = (world: SimulatedWorld, actor: Actor): WakeUps => {
  const note = (
    wakeUp: Parameters<WakeUps['sendDelayed']>[0],
    by: 'sqs_delay' | 'scheduler',
    takenFor?: number,
  ): void => {
    const { attempt, dueAt } = wakeUp;
    const delivery = deliveryName(wakeUp.key);
    const recorded = world.deliveries.find(delivery);
    world.history.wakeUps.push({
      at: world.time.now(),
      delivery,
      attempt,
      dueAt,
      by,
      actor,
      recorded,
      ...(takenFor === undefined ? {} : { takenFor }),
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
