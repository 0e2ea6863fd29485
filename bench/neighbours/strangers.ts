import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { BURST_SECONDS, TOKEN_RATE_LIMIT } from '../../shared/config/open-routes.ts';
import { subscriptionPrefix } from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { tokenBucket } from '../harness/token-bucket.ts';
import { quantile } from '../harness/figures.ts';
import { NO_RETRIES } from '../../test/support/builders.ts';
import { type ApiWorld, mostAtOnce } from './api-world.ts';

/**
 * `refused`: times that an acknowledgement got 429. `late`: answered after the end of its lease. `failed`: deliveries
 * that are not delivered at the end.
 */
export type AckFigures = {
  'acks/s': number;
  acks: number;
  answered: number;
  refused: number;
  late: number;
  failed: number;
  'strangers answered': number;
  'answer p95 ms': number;
  'until answered p95 s': number;
};

/** Requests with well-formed wrong tokens that were answered, and the reads of their subscription, of which an instance makes one a second. */
export type GuessFigures = { 'answered/s': number; 'reads/s': number; instances: number };

const STRANGERS_PER_SECOND = 10 * TOKEN_RATE_LIMIT;
const TICK_MS = 100;
/** What got 429 is repeated after so long (docs/pull.md#access). */
const REPEAT_MS = 1_000;
/** As many writes at once as the local AWS answers in time. */
const RECEIVED_TOGETHER = 10;
/** Shorter than the flood, so that many acknowledgements come late. */
const LEASE_SECONDS = 5;
/** Longer than the slowest acknowledgements need. */
const MAX_FLOOD_MS = 8 * 60_000;
/** This machine is slower than AWS: what is above gets 429, too. */
const MAX_IN_FLIGHT = 10;
const GUESS_SECONDS = 10;

const receivedSchema = z.object({
  deliveries: z.array(z.object({ receipt: z.string(), leaseUntil: z.iso.datetime() })),
});

type Received = z.infer<typeof receivedSchema>['deliveries'][number];

type Ack = Received & {
  firstAt: number;
  dueAt: number;
  answer?: { ms: number; waitedMs: number; isLate: boolean };
};

type Holder = { path: string; token: string };

/** Acknowledges at a pace, while strangers use ten times the limit of the route. */
export async function acknowledgeAmongStrangers(
  world: ApiWorld,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<AckFigures> {
  const queue = `acks-${perSecond}`;
  const count = perSecond * seconds;
  world.say(
    `${count} acknowledgements, ${perSecond} a second, among ${STRANGERS_PER_SECOND} strangers a second`,
  );
  const holder = await pullSubscription(world, queue);
  await world.publish(
    Array.from({ length: count }, (_, index) => JSON.stringify({ queue, id: `m-${index}`, data: { index } })),
  );
  const received = await receiveAll(world, holder, count);
  const startedAt = Date.now();
  const acks = received.map((one, index): Ack => {
    const firstAt = startedAt + (index * 1_000) / perSecond;
    return { ...one, firstAt, dueAt: firstAt };
  });
  const { guessed, refused } = await flood(world, holder, acks);
  const answers = acks.flatMap(({ answer }) => answer ?? []);
  return {
    'acks/s': perSecond,
    acks: count,
    answered: answers.length,
    refused,
    late: answers.filter(({ isLate }) => isLate).length,
    failed: count - (await deliveredOf(world, queue)),
    'strangers answered': guessed,
    'answer p95 ms': quantile(
      answers.map(({ ms }) => ms),
      0.95,
    ),
    'until answered p95 s':
      quantile(
        answers.map(({ waitedMs }) => waitedMs),
        0.95,
      ) / 1_000,
  };
}

async function receiveAll({ call }: ApiWorld, { path, token }: Holder, count: number): Promise<Received[]> {
  const received: Received[] = [];
  const until = Date.now() + MAX_FLOOD_MS;
  while (received.length < count) {
    if (Date.now() > until) throw new Error(`${received.length} of ${count} messages were received`);
    const { text } = await call(
      'POST',
      `${path}/receive`,
      { max: RECEIVED_TOGETHER, lease_seconds: LEASE_SECONDS },
      token,
    );
    received.push(...receivedSchema.parse(JSON.parse(text)).deliveries);
  }
  return received;
}

/** Sends acknowledgements and guesses until all acknowledgements are answered. Returns the answered guesses, and how often an acknowledgement got 429. */
async function flood(
  world: ApiWorld,
  { path, token }: Holder,
  acks: readonly Ack[],
): Promise<{ guessed: number; refused: number }> {
  const gate = gateOfRoute();
  let [refused, guessed] = [0, 0];
  const acknowledge = async (ack: Ack): Promise<void> => {
    const sentAt = Date.now();
    const { status, text } = await world.call('POST', `${path}/ack`, { receipt: ack.receipt }, token);
    const at = Date.now();
    ack.dueAt = at + REPEAT_MS;
    if (status === 429) refused += 1;
    else if (status !== 204) throw new Error(`An acknowledgement got ${status}: ${text}`);
    else
      ack.answer = { ms: at - sentAt, waitedMs: at - ack.firstAt, isLate: at > Date.parse(ack.leaseUntil) };
  };
  const guess = async (): Promise<void> => {
    if (await isRefused(world, path)) guessed += 1;
  };
  const until = Date.now() + MAX_FLOOD_MS;
  const guesses = Array.from({ length: (STRANGERS_PER_SECOND * TICK_MS) / 1_000 }, () => undefined);
  for (let waiting = acks; waiting.length > 0; waiting = acks.filter(({ answer }) => answer === undefined)) {
    const now = Date.now();
    if (now > until) throw new Error(`${waiting.length} acknowledgements got no answer`);
    for (const ack of shuffled([...waiting.filter(({ dueAt }) => dueAt <= now), ...guesses])) {
      const isServed = gate.isOpen();
      if (isServed) gate.send(() => (ack === undefined ? guess() : acknowledge(ack)));
      if (ack === undefined) continue;
      ack.dueAt = isServed ? Infinity : now + REPEAT_MS;
      if (!isServed) refused += 1;
    }
    await pause(TICK_MS, undefined, { signal: world.signal });
  }
  await gate.end();
  return { guessed, refused };
}

/** Strangers alone, as many as the route lets through. */
export async function guessAlone(world: ApiWorld): Promise<GuessFigures> {
  const { endpoints, logSince, signal, say } = world;
  say(`Wrong tokens alone for ${GUESS_SECONDS} s`);
  const { path } = await pullSubscription(world, 'guesses');
  const gate = gateOfRoute();
  const from = Date.now();
  let guessed = 0;
  while (Date.now() < from + GUESS_SECONDS * 1_000) {
    while (gate.isOpen())
      gate.send(async () => {
        if (await isRefused(world, path)) guessed += 1;
      });
    await pause(TICK_MS, undefined, { signal });
  }
  await gate.end();
  const seconds = (Date.now() - from) / 1_000;
  const log = logSince(from);
  const { api } = endpoints.functions;
  const reads = log.filter(
    (entry) =>
      entry.kind === 'call' &&
      entry.caller.endsWith(`/${api}`) &&
      entry.item?.includes(` ${subscriptionPrefix}`),
  );
  return {
    'answered/s': guessed / seconds,
    'reads/s': reads.length / seconds,
    instances: mostAtOnce(log, api),
  };
}

/** Whether a request with a wrong token was refused by the function: 429 comes before it. */
async function isRefused({ call }: ApiWorld, path: string): Promise<boolean> {
  const wrong = `phpull_${randomBytes(32).toString('base64url')}`;
  const { status } = await call('POST', `${path}/ack`, { receipt: 'unknown' }, wrong);
  if (status !== 401 && status !== 429) throw new Error(`A stranger got ${status}`);
  return status === 401;
}

/** What API Gateway puts in front of the route; the local AWS has no limit. What it refuses is not sent. */
function gateOfRoute() {
  const isAdmitted = tokenBucket({ perSecond: TOKEN_RATE_LIMIT, burst: BURST_SECONDS * TOKEN_RATE_LIMIT });
  const underWay = new Set<Promise<void>>();
  return {
    isOpen: () => underWay.size < MAX_IN_FLIGHT && isAdmitted(Date.now()),
    send: (request: () => Promise<void>): void => {
      const sent: Promise<void> = request().finally(() => underWay.delete(sent));
      underWay.add(sent);
    },
    end: async (): Promise<void> => {
      await Promise.all(underWay);
    },
  };
}

/** A queue with a pull subscription, whose deliveries fail at the end of their first lease. */
async function pullSubscription({ makeQueue, call }: ApiWorld, queue: string): Promise<Holder> {
  await makeQueue(queue, NO_RETRIES);
  const subscriptions = `/v2/queues/${queue}/subscriptions`;
  const subscribed = await call('POST', subscriptions, { subscriber: 'pull:' });
  const { subscription_id } = z.object({ subscription_id: z.string() }).parse(JSON.parse(subscribed.text));
  const given = await call('POST', `${subscriptions}/${subscription_id}/pull-token`, {});
  const { token } = z.object({ token: z.string() }).parse(JSON.parse(given.text));
  return { path: `/v2/pull/${queue}/${subscription_id}`, token };
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

const booksSchema = z.object({
  books: z.object({ delivered: z.number() }),
  links: z.array(z.object({ href: z.string() })),
});

/** Deliveries of a queue that are delivered, by the reconciliation report. */
async function deliveredOf({ call }: ApiWorld, queue: string): Promise<number> {
  let delivered = 0;
  for (let path: string | undefined = `/v2/queues/${queue}/books`; path !== undefined;) {
    const { text } = await call('GET', path);
    const { books, links } = booksSchema.parse(JSON.parse(text));
    delivered += books.delivered;
    path = links[0]?.href;
  }
  return delivered;
}
