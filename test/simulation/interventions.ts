import { deliveryKeyFor } from '../../functions/api/deliveries/deliveries.ts';
import { chunkedDeliveries } from '../../functions/api/deliveries/chunked-deliveries.ts';
import { reopenDelivery, retryDelivery, type ByHandContext } from '../../shared/steps/by-hand.ts';
import { cancelDelivery } from '../../shared/steps/cancel-delivery.ts';
import { isOpen } from '../../shared/domain/delivery/delivery.ts';
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
    const deliveries = chunkedDeliveries(ports);
    step({ ports: { ...ports, deliveries }, settings: actor.settings }).catch((error: unknown) => {
      world.history.trace?.push(`${world.time.now()} ${name} failed: ${String(error)}`);
    });
  };

  return {
    intervene: (intervention) => {
      switch (intervention.kind) {
        case 'retry':
        case 'cancel': {
          const { kind, messageId, subscriptionId } = intervention;
          invoke(`${kind} ${messageId}/${subscriptionId}`, async (context) => {
            const message = { queue: QUEUE, messageId };
            const { messageRecords } = context.ports;
            const key = await deliveryKeyFor({ messageRecords }, message, subscriptionId);
            if (key === undefined) return;
            await (kind === 'retry' ? retryDelivery(context, key) : cancelDelivery(context, key, 'manual'));
          });
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
