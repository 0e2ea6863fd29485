import type { Clock } from '../../shared/ports/clock.ts';
import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { Actor, Invocation } from './history.ts';
import type { SimulatedWorld } from './simulated-world.ts';
import type { StepPorts } from './ports.ts';
import { stepPorts } from './step-ports.ts';

const MACHINES = 3;

/** A machine that functions run on: its clock, and what it has read a moment ago. */
export type Machine = { clock: Pick<Clock, 'now'>; clockOffset: number; subscriptions: Subscriptions };

export const machinesOf = (world: SimulatedWorld): ((name: string) => Machine) => {
  const machines = Array.from({ length: MACHINES }, (_, index): Machine => {
    const clockOffset = Math.round((world.faults.chance(`machine ${index}`) * 2 - 1) * world.scenario.skewMs);
    const clock = { now: () => world.time.now() + clockOffset };
    return {
      clock,
      clockOffset,
      subscriptions: world.subscriptions.portFor(clock, world.scenario.settings.cacheSeconds),
    };
  });
  return (name) => {
    const machine = machines[Math.floor(world.faults.chance(`on ${name}`) * MACHINES)];
    if (machine === undefined) throw new RangeError('There are no machines.');
    return machine;
  };
};

/** An invocation on its machine. */
export type Running = { world: SimulatedWorld; machine: Machine; invocation: Invocation; endsAt: number };

export const actorOf = ({ world, machine, invocation }: Running, name: string, owner: string): Actor => ({
  name,
  owner,
  invocation,
  startedAt: world.time.now(),
  clockOffset: machine.clockOffset,
  settings: world.settings,
});

/** The ports of a step, with whatever a test puts in the place of a right one. */
export const portsOf = (
  world: SimulatedWorld,
  machine: Machine,
  actor: Actor,
  acknowledge: () => void,
): StepPorts => {
  const ports = stepPorts(world, actor, machine.subscriptions);
  return world.sabotage.ports?.(ports, { actor, acknowledge, deliveries: world.deliveries }) ?? ports;
};
