import { createHash } from 'node:crypto';
import type { NamedDeliveries } from '../../shared/ports/deliveries.ts';
import type { Invocation } from './history.ts';
import { actorOf, machinesOf, portsOf } from './machines.ts';
import type { StepPorts } from './ports.ts';
import { SECOND, type SimulatedSettings } from './scenario.ts';
import type { SimulatedWorld } from './simulated-world.ts';
import { chunkedDeliveries } from '../../functions/api/deliveries/chunked-deliveries.ts';
import type { ChangeContext } from '../../functions/api/dependencies.ts';
import { RefusedRequest } from '../../functions/api/errors.ts';

type ApiPorts = StepPorts & { deliveries: NamedDeliveries };

/** The context of the API's steps. */
export type ApiContext = ApiPorts & {
  ports: ApiPorts;
  settings: SimulatedSettings & ChangeContext['settings'];
  newId: () => string;
  randomBytes: (bytes: number) => Uint8Array;
};

export type ApiStep = (context: ApiContext) => Promise<unknown>;

export type SimulatedApi = ReturnType<typeof simulatedApi>;

/** The timeout of the API function (API Gateway gives up after 30 s). */
const INVOCATION_MS = 29 * SECOND;

/** Time between a request and its repeat. */
const PATIENCE_MS = 30 * SECOND;

/** Enough repeats to outlast the faults in most runs. */
const MAX_TRIES = 500;

/** The simulated API. Each request is a separate invocation that can fail or crash. */
export function simulatedApi(world: SimulatedWorld) {
  const { time, history, scenario } = world;
  const machineFor = machinesOf(world);
  let requests = 0;
  let made = 0;

  /** Deterministic bytes that differ between calls and seeds. */
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
        subscriptionCacheMs: world.settings.cacheSeconds * SECOND,
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
    const invocation: Invocation = { hasEnded: false, faults: [] };
    const endsAt = time.now() + INVOCATION_MS;
    time.at(endsAt, () => {
      invocation.hasEnded = true;
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
        isAnswered = error instanceof RefusedRequest;
        history.trace?.push(`${time.now()} ${name} failed: ${String(error)}`);
      },
    );
    if (tries > 1)
      time.at(time.now() + PATIENCE_MS, () => {
        if (!isAnswered) request(what, step, tries - 1);
      });
  };

  return {
    /** Makes a request once, regardless of its result. */
    requestOnce: (what: string, step: ApiStep): void => {
      request(what, step, 1);
    },
    /** Repeats a request until it is answered. */
    retryUntilAnswered: (what: string, step: ApiStep): void => {
      request(what, step, MAX_TRIES);
    },
  };
}
