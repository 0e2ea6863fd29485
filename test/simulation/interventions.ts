import { reopenDelivery, retryDelivery, type ByHandContext } from '../../shared/pipeline/by-hand.ts';
import { cancelDelivery } from '../../shared/pipeline/cancel-delivery.ts';
import { isOpen, type DeliveryKey } from '../../shared/domain/delivery.ts';
import type { Invocation } from './history.ts';
import { actorOf, machinesOf, portsOf } from './machines.ts';
import { QUEUE, SECOND, type Intervention } from './scenario.ts';
import type { SimulatedWorld } from './simulated-world.ts';

/** As long as the function of the API has (API Gateway gives up after 30 s). */
const INVOCATION_MS = 29 * SECOND;

/** What operators do by hand in a run: through the real steps, whose calls fail and whose function dies like any other. */
export const byHand = (world: SimulatedWorld): { intervene: (intervention: Intervention) => void } => {
  const machineFor = machinesOf(world);
  let made = 0;

  const invoke = (what: string, step: (context: ByHandContext) => Promise<unknown>): void => {
    made += 1;
    const name = `by hand ${made}`;
    const invocation: Invocation = { dead: false, faults: [] };
    const endsAt = world.time.now() + INVOCATION_MS;
    world.time.at(endsAt, () => {
      invocation.dead = true;
    });
    const machine = machineFor(name);
    const actor = actorOf({ world, machine, invocation, endsAt }, name, name);
    const ports = portsOf(world, machine, actor, () => undefined);
    world.history.trace?.push(`${world.time.now()} ${name}: ${what}`);
    step({ ports, settings: actor.settings }).catch((error: unknown) => {
      world.history.trace?.push(`${world.time.now()} ${name} failed: ${String(error)}`);
    });
  };

  return {
    intervene: (intervention) => {
      switch (intervention.kind) {
        case 'retry':
        case 'cancel': {
          const key = keyOf(world, intervention);
          invoke(
            `${intervention.kind} ${intervention.messageId}/${intervention.subscriptionId}`,
            (context) =>
              intervention.kind === 'retry'
                ? retryDelivery(context, key)
                : cancelDelivery(context, key, 'manual'),
          );
          return;
        }
        case 'recover':
          for (const [name, { key, status }] of world.deliveries.all())
            if (!isOpen(status) && status !== 'delivered')
              invoke(`recover ${name}`, (context) => reopenDelivery(context, key, intervention.id));
      }
    },
  };
};

/** As the record of the message says; before there is one nothing can be found under any key. */
const keyOf = (
  world: SimulatedWorld,
  { messageId, subscriptionId }: { messageId: string; subscriptionId: string },
): DeliveryKey =>
  world.deliveries.find(`${messageId}/${subscriptionId}`)?.key ?? {
    queue: QUEUE,
    messageId,
    subscriptionId,
    bucket: 0,
  };
