import type { MessageRecords } from '../../shared/ports/messages.ts';
import type { StepPorts } from './ports.ts';
import { withWrite } from './sabotage.ts';
import type { Sabotage } from './simulated-world.ts';

/** The ports with replaced message record methods. */
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

/** The ports with bodies that are stored only when `keep` is called. */
const withBodiesKeptLate = (ports: StepPorts): { late: StepPorts; keep: () => Promise<unknown> } => {
  let keep = (): Promise<unknown> => Promise.resolve();
  const late = withRecords(ports, (records) => ({
    keepBody: (...args) => {
      keep = () => records.keepBody(...args);
      return Promise.resolve('kept');
    },
  }));
  return { late, keep: () => keep() };
};

/** A failure is recorded before its message is stored. */
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

/** A takeover of a first attempt does not store the message. */
export const takenOverWithoutMessage: Sabotage = {
  ports: (ports) => {
    const { late, keep } = withBodiesKeptLate(ports);
    return withWrite(late, async (transition) => {
      if (transition.name !== 'take_over') await keep();
      return await ports.deliveries.write(transition);
    });
  },
};

/** The record hides the erasure from steps that would store a body. */
export const erasureIgnored: Sabotage = {
  ports: (ports) =>
    withRecords(ports, (records) => ({
      find: async (key) => {
        const record = await records.find(key);
        if (record === undefined) return undefined;
        const { erasedAt: _hidden, ...visible } = record;
        return visible;
      },
      keepBody: async (...args) => {
        await records.keepBody(...args);
        return 'kept';
      },
    })),
};
