/** The messages of one `MessageGroupId`. `number`: in the order of arrival. */
type Tenant<Message> = {
  waiting: { message: Message; number: number }[];
  inFlight: number;
  lastInFlightAt: number;
  processedMs: number;
  isNoisy: boolean;
};

const LEAST_IN_FLIGHT = 30;
const MAX_SHARE = 0.1;
const QUIET_AFTER_MS = 5 * 60_000;

/** The guide does not define "recent" processing time. */
const RECENT_MS = 60_000;

/** A message without a group is a separate tenant, so these are never noisy and keep the order of arrival. */
const UNGROUPED = Symbol('without a group');

/**
 * The visible messages of an SQS queue, in the order in which a fair queue returns them
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues-detailed.html). A tenant is
 * noisy with over a tenth of the messages in flight (30 at least) or of the recent processing time, until its backlog is consumed
 * or nothing of it was in flight for five minutes. Noisy tenants come last, first the one with the fewest messages in flight.
 */
export function visibleMessages<Message>(
  now: () => number,
  groupOf: (message: Message) => string | undefined,
) {
  const tenants = new Map<string | symbol, Tenant<Message>>();
  const recent: { at: number; tenant: Tenant<Message>; ms: number }[] = [];
  let [length, arrivals, inFlight, processedMs] = [0, 0, 0, 0];

  const tenantOf = (message: Message): Tenant<Message> => {
    const name = groupOf(message) ?? UNGROUPED;
    const tenant = tenants.get(name) ?? {
      waiting: [],
      inFlight: 0,
      lastInFlightAt: 0,
      processedMs: 0,
      isNoisy: false,
    };
    tenants.set(name, tenant);
    return tenant;
  };

  const forgetOld = (): void => {
    for (let oldest = recent[0]; oldest !== undefined; oldest = recent[0]) {
      if (oldest.at > now() - RECENT_MS) return;
      recent.shift();
      oldest.tenant.processedMs -= oldest.ms;
      processedMs -= oldest.ms;
    }
  };

  const isNoisyNow = (tenant: Tenant<Message>): boolean => {
    if (tenant === tenants.get(UNGROUPED) || tenant.waiting.length === 0) return false;
    if (tenant.isNoisy) return tenant.inFlight > 0 || now() - tenant.lastInFlightAt < QUIET_AFTER_MS;
    const hasMany = tenant.inFlight >= LEAST_IN_FLIGHT && tenant.inFlight > MAX_SHARE * inFlight;
    return hasMany || tenant.processedMs > MAX_SHARE * processedMs;
  };

  const next = (): Tenant<Message> | undefined => {
    const all = [...tenants.values()].filter(({ waiting }) => waiting.length > 0);
    const quiet = all.filter(({ isNoisy }) => !isNoisy);
    return quiet.length > 0
      ? leastBy(quiet, ({ waiting }) => waiting[0]?.number ?? 0)
      : leastBy(all, (tenant) => tenant.inFlight);
  };

  return {
    get length() {
      return length;
    },
    get first() {
      return next()?.waiting[0]?.message;
    },
    add: (message: Message): void => {
      tenantOf(message).waiting.push({ message, number: arrivals });
      arrivals += 1;
      length += 1;
    },
    take: (most: number): Message[] => {
      forgetOld();
      for (const tenant of tenants.values()) tenant.isNoisy = isNoisyNow(tenant);
      const taken: Message[] = [];
      while (taken.length < most) {
        const tenant = next();
        const arrival = tenant?.waiting.shift();
        if (tenant === undefined || arrival === undefined) break;
        tenant.inFlight += 1;
        inFlight += 1;
        length -= 1;
        taken.push(arrival.message);
      }
      return taken;
    },
    /** The invocation with the message is over, after so many milliseconds. */
    processed: (message: Message, ms: number): void => {
      const tenant = tenantOf(message);
      tenant.inFlight -= 1;
      tenant.lastInFlightAt = now();
      tenant.processedMs += ms;
      inFlight -= 1;
      processedMs += ms;
      recent.push({ at: now(), tenant, ms });
    },
  };
}

function leastBy<Item>(items: readonly Item[], valueOf: (item: Item) => number): Item | undefined {
  return items.reduce<Item | undefined>(
    (least, item) => (least === undefined || valueOf(item) < valueOf(least) ? item : least),
    undefined,
  );
}
