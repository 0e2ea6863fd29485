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
  ports: (ports) => ({
    ...ports,
    deliveries: {
      find: (key) => ports.deliveries.find(key),
      overdue: (before, limit) => ports.deliveries.overdue(before, limit),
      write: async (transition) => {
        const result = await ports.deliveries.write(transition);
        if (result.kind !== 'written' || result.delivery.slot === undefined) return result;
        const { slot } = result.delivery;
        const at = Math.max(slot.at, ports.clock.now());
        return transition.name === 'await_slot'
          ? result
          : { ...result, delivery: { ...result.delivery, slot: { ...slot, at } } };
      },
    },
  }),
};

/** A first attempt that has to wait is put on record without its message. */
export const waitsWithoutMessage: Sabotage = {
  ports: (ports) => {
    const held: (() => Promise<unknown>)[] = [];
    const { messageRecords, deliveries } = ports;
    return {
      ...ports,
      messageRecords: {
        accept: (record) => messageRecords.accept(record),
        find: (key) => messageRecords.find(key),
        eraseBody: (key, at) => messageRecords.eraseBody(key, at),
        keepBody: (key, body, until) => {
          held.push(() => messageRecords.keepBody(key, body, until));
          return Promise.resolve('kept');
        },
      },
      deliveries: {
        find: (key) => deliveries.find(key),
        overdue: (before, limit) => deliveries.overdue(before, limit),
        write: async (transition) => {
          const kept = held.splice(0);
          if (transition.name !== 'await_slot') for (const keep of kept) await keep();
          return await deliveries.write(transition);
        },
      },
    };
  },
};
