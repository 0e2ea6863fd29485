import type { DeliveryListings, Recoveries } from '../../shared/ports/deliveries.ts';
import type { StepPorts } from './ports.ts';
import type { Sabotage } from './simulated-world.ts';

const withOldest = (ports: StepPorts, oldest: DeliveryListings['oldest']): StepPorts => {
  const { deliveryListings } = ports;
  return {
    ...ports,
    deliveryListings: {
      oldest,
      newest: (selection, page) => deliveryListings.newest(selection, page),
      records: (keys) => deliveryListings.records(keys),
      ofMessage: (message, page) => deliveryListings.ofMessage(message, page),
      tally: (message, buckets) => deliveryListings.tally(message, buckets),
    },
  };
};

/** Each page lacks its last delivery. */
export const lastOfPageForgotten: Sabotage = {
  ports: (ports) =>
    withOldest(ports, async (selection, request) => {
      const page = await ports.deliveryListings.oldest(selection, request);
      return { ...page, items: page.items.slice(0, -1) };
    }),
};

const withRecoveries = (
  ports: StepPorts,
  { save, keepPage }: Partial<Pick<Recoveries, 'save' | 'keepPage'>>,
): StepPorts => {
  const { recoveries } = ports;
  return {
    ...ports,
    recoveries: {
      create: (recovery) => recoveries.create(recovery),
      find: (queue, id) => recoveries.find(queue, id),
      list: (queue, page) => recoveries.list(queue, page),
      save: save ?? ((recovery) => recoveries.save(recovery)),
      keepPage: keepPage ?? ((recovery) => recoveries.keepPage(recovery)),
      keptPages: (queue, id, page) => recoveries.keptPages(queue, id, page),
    },
  };
};

/** The record does not store the batch of a recovery. */
export const pageNotOnRecord: Sabotage = {
  ports: (ports) =>
    withRecoveries(ports, { save: (recovery) => ports.recoveries.save({ ...recovery, batch: [] }) }),
};

/** A page is stored without its last delivery. */
export const pageKeptInPart: Sabotage = {
  ports: (ports) =>
    withRecoveries(ports, {
      keepPage: (recovery) => ports.recoveries.keepPage({ ...recovery, batch: recovery.batch.slice(0, -1) }),
    }),
};

/** The second pass of a cancellation is not sent. */
export const secondPassForgotten: Sabotage = {
  ports: (ports) => ({
    ...ports,
    operations: {
      send: (operation, delaySeconds) =>
        operation.kind === 'cancellation' && operation.subscriptionId !== undefined && (delaySeconds ?? 0) > 0
          ? Promise.resolve()
          : ports.operations.send(operation, delaySeconds),
    },
  }),
};
