import type { ByHandContext } from '../../shared/steps/by-hand.ts';
import type { Chunks } from '../../shared/ports/deliveries.ts';
import type { DeliverPorts } from '../../functions/deliver/context.ts';

/** What any of the steps asks for. */
export type StepPorts = DeliverPorts &
  Pick<ByHandContext['ports'], 'deliveryListings' | 'rateLimits' | 'wakeUps'> & { chunks: Chunks };
