import { withWrite } from './sabotage.ts';
import type { Sabotage } from './simulated-world.ts';

/** Whoever asks gets a slot that is now, whoever else has it. */
export const nobodyStandsInLine: Sabotage = {
  ports: (ports) => ({
    ...ports,
    rateLimits: {
      reserve: (_limited, { epoch }) => Promise.resolve({ at: ports.clock.now(), epoch }),
    },
  }),
};

/** A slot that was missed is used all the same, as if it were now. */
export const slotsNeverTooOld: Sabotage = {
  ports: (ports) =>
    withWrite(ports, async (transition) => {
      const result = await ports.deliveries.write(transition);
      if (result.kind !== 'written' || result.delivery.slot === undefined) return result;
      const { slot } = result.delivery;
      const at = Math.max(slot.at, ports.clock.now());
      return transition.name === 'await_slot'
        ? result
        : { ...result, delivery: { ...result.delivery, slot: { ...slot, at } } };
    }),
};

/** A first attempt that has to wait is put on record without its message. */
export const waitsWithoutMessage: Sabotage = {
  ports: (ports) => {
    const held: (() => Promise<unknown>)[] = [];
    const { messageRecords, deliveries } = ports;
    const keepingLater = {
      ...ports,
      messageRecords: {
        accept: messageRecords.accept.bind(messageRecords),
        find: messageRecords.find.bind(messageRecords),
        eraseBody: messageRecords.eraseBody.bind(messageRecords),
        keepBody: (...asked: Parameters<typeof messageRecords.keepBody>) => {
          held.push(() => messageRecords.keepBody(...asked));
          return Promise.resolve('kept' as const);
        },
      },
    };
    return withWrite(keepingLater, async (transition) => {
      const kept = held.splice(0);
      if (transition.name !== 'await_slot') for (const keep of kept) await keep();
      return await deliveries.write(transition);
    });
  },
};
