import type { ByHandContext } from '../../shared/pipeline/by-hand.ts';
import type { Chunks } from '../../shared/ports/chunks.ts';
import type { DeliverPorts } from '../../shared/pipeline/deliver-context.ts';

/** What any of the steps asks for. */
export type StepPorts = DeliverPorts &
  Pick<ByHandContext['ports'], 'deliveryListings' | 'wakeUps'> & { chunks: Chunks };
