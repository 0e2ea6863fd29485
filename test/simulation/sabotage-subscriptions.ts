import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { Actor } from './history.ts';
import type { StepPorts } from './ports.ts';
import { withWrite } from './sabotage.ts';
import { SECOND } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

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

type HiddenFields = Pick<Subscription, 'formerly' | 'unconfirmed' | 'deletedAt'>;

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
export const formerInterestsForgotten = readWithout((seen) => delete seen.formerly);

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
