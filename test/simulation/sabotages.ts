import type { HealthChange } from '../../shared/domain/subscription/health.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { DeliveryListings, Recoveries } from '../../shared/ports/deliveries.ts';
import type { MessageRecords } from '../../shared/ports/messages.ts';
import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { Actor } from './history.ts';
import type { StepPorts } from './faulty-ports.ts';
import { withWrite } from './sabotage.ts';
import { DAY, SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

/** The port's methods as own properties, which a proxy does not have. */
const portOf = (port: Subscriptions): Subscriptions => ({
  page: (...given) => port.page(...given),
  find: (queue, id, freshness) => port.find(queue, id, freshness),
  disable: (queue, id, disabled, version) => port.disable(queue, id, disabled, version),
  changeHealth: (queue, id, change) => port.changeHealth(queue, id, change),
});

const withHealth = (ports: StepPorts, changeHealth: Subscriptions['changeHealth']): StepPorts => ({
  ...ports,
  subscriptions: { ...portOf(ports.subscriptions), changeHealth },
});

/** Successes do not change the health. */
export const successesIgnored: Sabotage = {
  ports: (ports) =>
    withHealth(ports, (queue, id, change) =>
      change.kind === 'recover'
        ? Promise.resolve({ kind: 'refused', current: undefined })
        : ports.subscriptions.changeHealth(queue, id, change),
    ),
};

/** Health changes apply to the current subscription, even if the attempt read an older one. */
export const staleHealthAccepted: Sabotage = {
  ports: (ports) => {
    const port = ports.subscriptions;
    const versionNow = async (queue: string, id: string) => {
      const { subscription } = await port.find(queue, id, 'fresh');
      return subscription?.version === undefined ? {} : { version: subscription.version };
    };
    return {
      ...ports,
      subscriptions: {
        ...portOf(port),
        disable: async (queue, id, disabled) =>
          port.disable(queue, id, disabled, (await versionNow(queue, id)).version),
        changeHealth: async (queue, id, change) =>
          port.changeHealth(
            queue,
            id,
            change.kind === 'sent' ? change : { ...change, ...(await versionNow(queue, id)) },
          ),
      },
    };
  },
};

/** All failures count, even within one minute. */
export const burstsCounted: Sabotage = {
  ports: (ports) =>
    withHealth(ports, (queue, id, change) => {
      if (change.kind !== 'count') return ports.subscriptions.changeHealth(queue, id, change);
      const { since, failures } = change.failing;
      return ports.subscriptions.changeHealth(queue, id, { ...change, failing: { since, failures } });
    }),
};

/** A pending event is removed before it is sent. */
export const eventRemovedBeforeSending: Sabotage = {
  ports: (ports) =>
    withHealth(ports, async (queue, id, change) => {
      const result = await ports.subscriptions.changeHealth(queue, id, change);
      if (result.kind === 'refused' || change.kind === 'sent') return result;
      const { unsent } = result.subscription;
      if (unsent !== undefined) await ports.subscriptions.changeHealth(queue, id, { kind: 'sent', unsent });
      return result;
    }),
};

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

/** The ports with a replaced reading or health change. The port's methods as own properties, which a proxy lacks. */
const withSubscriptions = (ports: StepPorts, change: Partial<StepPorts['subscriptions']>): StepPorts => {
  const { subscriptions: port } = ports;
  return {
    ...ports,
    subscriptions: {
      page: (queue, freshness, after) => port.page(queue, freshness, after),
      find: (queue, id, freshness) => port.find(queue, id, freshness),
      disable: (queue, id, disabled, version) => port.disable(queue, id, disabled, version),
      changeHealth: (queue, id, wanted) => port.changeHealth(queue, id, wanted),
      ...change,
    },
  };
};

const withPressureChange = (changed: (change: HealthChange) => HealthChange | undefined): Sabotage => ({
  ports: (ports) =>
    withSubscriptions(ports, {
      changeHealth: (queue, id, wanted) => {
        const change = wanted.kind === 'pressure' ? changed(wanted) : wanted;
        return change === undefined
          ? Promise.resolve({ kind: 'refused', current: undefined })
          : ports.subscriptions.changeHealth(queue, id, change);
      },
    }),
});

/** The pressure is never recorded. */
export const refusalsIgnored = withPressureChange(() => undefined);

/** A probe that is answered does not end the outage. */
export const probesIgnored = withPressureChange((change) =>
  change.kind === 'pressure' && change.pressure.state === 'ramping' ? undefined : change,
);

/** A held subscriber lets all waiting deliveries try at once. */
export const manyProbes: Sabotage = {
  ports: (ports) => ({
    ...ports,
    rateLimits: {
      reserve: (limited, limit, wanted) =>
        ports.rateLimits.reserve(limited, { ...limit, longestMs: DAY, intervalMs: 1 }, wanted),
      returnSlot: (limited, slot) => ports.rateLimits.returnSlot(limited, slot),
    },
  }),
};

type Reads = Pick<Subscriptions, 'page' | 'find'>;

/** The ports with replaced reads of subscriptions. */
const withReads = (ports: StepPorts, reads: (subscriptions: Reads) => Partial<Reads>): StepPorts => {
  const { subscriptions } = ports;
  return {
    ...ports,
    subscriptions: {
      page: (...args) => subscriptions.page(...args),
      find: (...args) => subscriptions.find(...args),
      disable: (...args) => subscriptions.disable(...args),
      changeHealth: (...args) => subscriptions.changeHealth(...args),
      ...reads(subscriptions),
    },
  };
};

type HiddenFields = Pick<Subscription, 'previousSelection' | 'unconfirmed' | 'deletedAt'>;

/** Hides a field of every subscription that is read. */
const readWithout = (overlook: (seen: HiddenFields) => void): Sabotage => {
  const seenAs = <Of extends HiddenFields>(subscription: Of): Of => {
    const seen = { ...subscription };
    overlook(seen);
    return seen;
  };
  return {
    ports: (ports) =>
      withReads(ports, (subscriptions) => ({
        page: async (...args) => {
          const page = await subscriptions.page(...args);
          return page && { ...page, subscriptions: page.subscriptions.map(seenAs) };
        },
        find: async (...args) => {
          const { subscription, ...found } = await subscriptions.find(...args);
          return { ...found, subscription: subscription && seenAs(subscription) };
        },
      })),
  };
};

/** A repeat uses the current interests. */
export const formerInterestsForgotten = readWithout((seen) => delete seen.previousSelection);

/** Unconfirmed subscriptions are treated as confirmed. */
export const confirmationNotAwaited = readWithout((seen) => delete seen.unconfirmed);

/** Subscriptions marked for deletion are treated as active. */
export const marksIgnored = readWithout((seen) => delete seen.deletedAt);

/** An undecided filter does not match. */
export const undecidedLeftOut: Sabotage = {
  ports: (ports) =>
    withReads(ports, (subscriptions) => ({
      page: async (...args) => {
        const page = await subscriptions.page(...args);
        const isDecided = ({ options }: Pick<Subscription, 'options'>) =>
          !JSON.stringify(options.filter ?? {}).includes('"l":');
        return page && { ...page, subscriptions: page.subscriptions.filter(isDecided) };
      },
    })),
};

/** An unreadable subscription is treated as deleted. */
export const unreadableIsAbsent: Sabotage = {
  ports: (ports) =>
    withReads(ports, (subscriptions) => ({
      find: async (...args) => {
        try {
          return await subscriptions.find(...args);
        } catch {
          return { queue: undefined, subscription: undefined };
        }
      },
    })),
};

/** A retry uses the cached subscription. */
export const retriesReadCache: Sabotage = {
  ports: (ports) =>
    withReads(ports, (subscriptions) => ({ find: (queue, id) => subscriptions.find(queue, id, 'cached') })),
};

/** The first opened secret of a subscription is used from then on. */
export const openedSecretsKept = (): Sabotage => {
  const opened = new Map<string, ReturnType<StepPorts['secretOpener']['open']>>();
  return {
    ports: (ports) => ({
      ...ports,
      secretOpener: {
        ...ports.secretOpener,
        open: (owner, sealed) => {
          const secret = opened.get(owner.subscriptionId) ?? ports.secretOpener.open(owner, sealed);
          opened.set(owner.subscriptionId, secret);
          return secret;
        },
      },
    }),
  };
};

/** Guards both calls by which a delivery meets the partition of its message: the read of the message, and the write. */
const withGuard = (ports: StepPorts, guard: <Of>(call: () => Promise<Of>) => Promise<Of>): StepPorts => {
  const { messageRecords } = ports;
  return {
    ...withWrite(ports, (transition) => guard(() => ports.deliveries.write(transition))),
    messageRecords: {
      accept: (...args) => messageRecords.accept(...args),
      addPart: (...args) => messageRecords.addPart(...args),
      find: (key) => guard(() => messageRecords.find(key)),
      keepBody: (...args) => messageRecords.keepBody(...args),
      eraseBody: (...args) => messageRecords.eraseBody(...args),
    },
  };
};

/** One throttled call fails all other work of its invocation. */
export const throttlingFailsAll: Sabotage = {
  ports: (ports, { actor }) =>
    withGuard(ports, async (call) => {
      try {
        return await call();
      } catch (error) {
        actor.invocation.hasEnded = true;
        throw error;
      }
    }),
};

/** One throttled call delays all other work of its invocation. */
export const throttlingHoldsUpAll = (): Sabotage => {
  const waits = new WeakMap<Actor['invocation'], Promise<void>>();
  return {
    ports: (ports, { actor }) =>
      withGuard(ports, async (call) => {
        await waits.get(actor.invocation);
        try {
          return await call();
        } catch (error) {
          waits.set(actor.invocation, ports.clock.sleep(10 * SECOND));
          throw error;
        }
      }),
  };
};
