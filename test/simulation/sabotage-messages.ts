import type { MessageRecords } from '../../shared/ports/messages.ts';
import type { StepPorts } from './ports.ts';
import { withWrite } from './sabotage.ts';
import type { Sabotage } from './simulated-world.ts';

/** The ports with other records of messages. */
export const withRecords = (
  ports: StepPorts,
  change: (records: MessageRecords) => Partial<MessageRecords>,
): StepPorts => {
  const { messageRecords } = ports;
  const records: MessageRecords = {
    accept: (record, sentAt) => messageRecords.accept(record, sentAt),
    addPart: (record, next) => messageRecords.addPart(record, next),
    find: (key) => messageRecords.find(key),
    keepBody: (message, body, until) => messageRecords.keepBody(message, body, until),
    eraseBody: (key, at) => messageRecords.eraseBody(key, at),
  };
  return { ...ports, messageRecords: { ...records, ...change(records) } };
};

/** The ports with bodies that are kept only when `keep` is called. */
const withBodiesKeptLate = (ports: StepPorts): { late: StepPorts; keep: () => Promise<unknown> } => {
  let keep = (): Promise<unknown> => Promise.resolve();
  const late = withRecords(ports, (records) => ({
    keepBody: (...given) => {
      keep = () => records.keepBody(...given);
      return Promise.resolve('kept');
    },
  }));
  return { late, keep: () => keep() };
};

/** A failure is on record, its message not yet. */
export const bodyKeptAfterRecord: Sabotage = {
  ports: (ports) => {
    const { late, keep } = withBodiesKeptLate(ports);
    return withWrite(late, async (transition) => {
      const result = await ports.deliveries.write(transition);
      if (transition.name === 'record') await keep();
      return result;
    });
  },
};

/** Whoever takes over a first attempt leaves its message to the job alone. */
export const takenOverWithoutMessage: Sabotage = {
  ports: (ports) => {
    const { late, keep } = withBodiesKeptLate(ports);
    return withWrite(late, async (transition) => {
      if (transition.name !== 'take_over') await keep();
      return await ports.deliveries.write(transition);
    });
  },
};

/** The record does not say that a body was erased, to those who would keep one. */
export const erasureUnheard: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      find: async (key) => {
        const record = await records.find(key);
        if (record === undefined) return undefined;
        const { erasedAt: _unheard, ...heard } = record;
        return heard;
      },
      keepBody: async (...given) => {
        await records.keepBody(...given);
        return 'kept';
      },
    })),
};
