import type { DeliverPorts } from '../../functions/deliver/context.ts';
import type { Chunks, DeliveryListings, Recoveries } from '../../shared/ports/deliveries.ts';
import type { Operations } from '../../shared/ports/queues.ts';
import type { CountingWindows, RateLimits } from '../../shared/ports/pace.ts';
import type { Registry, SecretSealer } from '../../shared/ports/subscriptions.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';

/** All ports that any step needs. */
export type StepPorts = DeliverPorts & {
  chunks: Chunks;
  deliveryListings: DeliveryListings;
  rateLimits: RateLimits;
  countingWindows: CountingWindows;
  wakeUps: WakeUps;
  registry: Registry;
  secretSealer: SecretSealer;
  recoveries: Recoveries;
  operations: Operations;
};
