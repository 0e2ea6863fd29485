import type { OperateContext } from '../../../functions/operate/context.ts';
import { operate } from '../../../functions/operate/operate.ts';
import { OPERATE_TIMEOUT_SECONDS, type Operation } from '../../../shared/domain/recovery/operation.ts';
import { visibilityTimeout } from '../../../shared/domain/receives.ts';
import type { Operations } from '../../../shared/ports/queues.ts';
import { modelledSqs, sideBySide } from '../modelled-sqs.ts';
import { inMemoryRecoveries } from './in-memory-recoveries.ts';
import type { VirtualClock } from './virtual-clock.ts';

type Ports = Omit<OperateContext['ports'], 'clock' | 'recoveries' | 'operations'>;

/** The operation queue, and the operate function that receives from it. */
export const operatingQueue = (
  clock: VirtualClock,
  { ports, settings }: { ports: Ports; settings: OperateContext['settings'] },
): Operations => {
  const queue = modelledSqs<Operation>({
    name: 'operation',
    timeline: clock,
    visibilityMs: () => 1000 * visibilityTimeout(OPERATE_TIMEOUT_SECONDS),
    batchSize: 1,
    consume: sideBySide(({ value }) => {
      const endsAt = clock.now() + OPERATE_TIMEOUT_SECONDS * 1000;
      return operate(context, value, () => endsAt - clock.now());
    }),
  });
  const operations: Operations = {
    send: (operation, delaySeconds) => {
      queue.send(operation, delaySeconds);
      return Promise.resolve();
    },
  };
  const context = { ports: { ...ports, clock, recoveries: inMemoryRecoveries(), operations }, settings };
  return operations;
};
