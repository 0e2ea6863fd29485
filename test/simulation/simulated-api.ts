import { createHash } from 'node:crypto';
import { chunkedDeliveries } from '../../functions/api/deliveries/chunked-deliveries.ts';
import type { RoomContext } from '../../functions/api/subscriptions/room.ts';
import type { Invocation } from './history.ts';
import { actorOf, machinesOf, portsOf } from './machines.ts';
import type { StepPorts } from './ports.ts';
import { SECOND, type SimulatedSettings } from './scenario.ts';
import type { SimulatedWorld } from './simulated-world.ts';

/** What the steps of the API's function ask for. */
export type ApiContext = StepPorts & {
  ports: StepPorts;
  settings: SimulatedSettings & RoomContext['settings'] & { subscriptionConfirmation: boolean };
  newId: () => string;
  randomBytes: (bytes: number) => Uint8Array;
};

export type ApiStep = (context: ApiContext) => Promise<unknown>;

export type SimulatedApi = {
  /** A request that is made once, whatever becomes of it. */
  ask(what: string, step: ApiStep): void;
  /** A request that its caller repeats until it is answered. */
  insist(what: string, step: ApiStep): void;
};

/** As long as the function of the API has (API Gateway gives up after 30 s). */
const INVOCATION_MS = 29 * SECOND;

/** From one request to its repeat. */
const PATIENCE_MS = 30 * SECOND;

/** Longer than faults go on in most runs. */
const MOST_TRIES = 500;

/** The API in a run: each request is an invocation of its own, whose calls fail and which dies like any other. */
export function simulatedApi(world: SimulatedWorld): SimulatedApi {
  const { time, history, scenario } = world;
  const machineFor = machinesOf(world);
  let requests = 0;
  let made = 0;

  /** Differ from each other and, with the seed, from run to run. */
  const randomBytes = (bytes: number): Uint8Array => {
    made += 1;
    return createHash('sha512').update(`${scenario.seed} ${made}`).digest().subarray(0, bytes);
  };

  const contextOf = (ports: StepPorts): ApiContext => {
    const chunked = { ...ports, deliveries: chunkedDeliveries(ports) };
    return {
      ...chunked,
      ports: chunked,
      settings: {
        ...world.settings,
        subscriptionConfirmation: scenario.confirmsSubscriptions,
        queueLimit: { subscriptions: 100_000, bytes: 2 ** 26 },
      },
      newId: () => `r${requests}`,
      randomBytes,
    };
  };

  const request = (what: string, step: ApiStep, tries: number): void => {
    requests += 1;
    const name = `by hand ${requests}`;
    const invocation: Invocation = { dead: false, faults: [] };
    const endsAt = time.now() + INVOCATION_MS;
    time.at(endsAt, () => {
      invocation.dead = true;
    });
    const machine = machineFor(name);
    const actor = actorOf({ world, machine, invocation, endsAt }, name, name);
    history.trace?.push(`${time.now()} ${name}: ${what}`);
    let isAnswered = false;
    step(contextOf(portsOf(world, machine, actor, () => undefined))).then(
      () => {
        isAnswered = true;
      },
      (error: unknown) => {
        history.trace?.push(`${time.now()} ${name} failed: ${String(error)}`);
      },
    );
    if (tries > 1)
      time.at(time.now() + PATIENCE_MS, () => {
        if (!isAnswered) request(what, step, tries - 1);
      });
  };

  return {
    ask: (what, step) => {
      request(what, step, 1);
    },
    insist: (what, step) => {
      request(what, step, MOST_TRIES);
    },
  };
}
