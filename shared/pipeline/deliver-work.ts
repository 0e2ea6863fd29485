import type { FirstJob, WakeUp } from '../domain/delivery-job.ts';
import { deliverChunk } from './deliver-chunk.ts';
import type { DeliverContext, Received } from './deliver-context.ts';
import { deliver } from './deliver.ts';

/** Whatever deliver's two queues carry, to the end of what can be done about it now. It throws when it must come again. */
export const deliverWork = (
  context: DeliverContext,
  work: FirstJob | WakeUp,
  received: Received,
): Promise<void> =>
  work.kind === 'chunk' ? deliverChunk(context, work, received) : deliver(context, work, received);
