import { expect, it } from 'vitest';
import * as z from 'zod';
import { BURST_SECONDS, PULL_RATE_LIMIT } from '../../shared/config/open-routes.ts';
import type { Revision, Transition } from '../../shared/domain/delivery/delivery.ts';
import { aBarePolicy } from '../support/builders.ts';
import { type Chance, seededChance } from '../support/chance.ts';
import { tokenBucket } from '../support/token-bucket.ts';
import { PATH, pullWorld, type ReceivedDelivery, receivedSchema } from '../unit/api/pull-world.ts';
import { withPull } from './generate-variants.ts';
import { generateScenario } from './generate-scenario.ts';
import type { Finding } from './invariants/delivery-case.ts';
import { runScenario } from './run-scenario.ts';
import { FIRST_SEED, itCatches, writing } from './sabotage.ts';

/** Runs of the correct pipeline. */
const CORRECT_RUNS = 100;

const isReceive = (transition: Transition): transition is Revision =>
  transition.name === 'claim' && transition.expect.kind === 'overdue_at' && 'change' in transition;

it('with consumers that crash or come too late nothing is lost, received early, or twice within a lease', async () => {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + CORRECT_RUNS; seed += 1) {
    const { world, findings: found } = await runScenario(withPull(generateScenario(seed)));
    findings.push(...found);
    for (const { answer, result = 'unanswered' } of world.history.pullAnswers)
      seen.add(`${answer}: ${result}`);
    for (const { transition, after } of world.history.writes)
      if (transition.name === 'record') seen.add(String(after.attempts.at(-1)?.result.kind));
  }
  expect(findings).toEqual([]);
  // Without these events the simulation proves nothing.
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'acknowledged: recorded',
      'refused: recorded',
      'acknowledged: expired',
      'refused: expired',
      'lapsed',
      'refused',
    ]),
  );
});

itCatches({
  'in which two receives can take the same delivery': {
    by: 'received_once_per_lease',
    within: 100,
    among: withPull,
    ...writing((transition, { deliveries }) =>
      isReceive(transition) ? deliveries.write({ ...transition, expect: { kind: 'present' } }) : undefined,
    ),
  },

  'in which reconcile does not notice a lapsed lease, because what is received leaves the index': {
    by: 'everything_ends',
    within: 100,
    among: withPull,
    ...writing((transition, { deliveries }) =>
      isReceive(transition)
        ? deliveries.write({ ...transition, change: { ...transition.change, overdueAt: null } })
        : undefined,
    ),
  },

  'in which a failed delivery can be received again before its policy allows it': {
    by: 'received_when_due',
    within: 100,
    among: withPull,
    ...writing((transition, { deliveries, clock }) =>
      transition.name === 'record' &&
      'change' in transition &&
      'next' in transition.change &&
      transition.change.next?.by === 'pull'
        ? deliveries.write({ ...transition, change: { ...transition.change, overdueAt: clock.now() } })
        : undefined,
    ),
  },
});

const HELD = '/v2/pull/orders/subscription-1';

const DELIVERIES = 200;
const ACKS_PER_SECOND = 20;
const STRANGERS_PER_SECOND = 10 * PULL_RATE_LIMIT;
/** Holders work on a delivery for so long, and repeat what got 429 after a second (docs/pull.md#access). */
const WORK_MS = 10_000;
const REPEAT_MS = 1_000;
const LEASE_SECONDS = 5;
/** Virtual time between arrivals, between runs of reconcile, and until the test gives up. */
const STEP_MS = 20;
const RECONCILE_MS = 60_000;
/** Of those received first, some have failed at the end of their lease by then, and are not acknowledged yet. */
const FIRST_RECONCILE_MS = 40_000;
const MAX_MS = 300_000;

type Ack = ReceivedDelivery & { dueAt: number };

/** Holders of a token and strangers at the routes of one pull subscription, behind the limits that API Gateway has. */
const floodedWorld = async () => {
  const world = await pullWorld({
    options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 5 }) },
  });
  const { token } = z
    .object({ token: z.string() })
    .parse((await world.call('POST', `${PATH}/pull-token`)).body);
  const post = (route: string, body: object, bearer = token) =>
    world.call('POST', `${HELD}/${route}`, body, { authorization: `Bearer ${bearer}` });
  const limits = { perSecond: PULL_RATE_LIMIT, burst: BURST_SECONDS * PULL_RATE_LIMIT };
  const buckets = { ack: tokenBucket(limits), receive: tokenBucket(limits) };
  const { registry } = world.api.dependencies;
  const read = registry.findSubscription.bind(registry);
  let reads = 0;
  registry.findSubscription = (queue, id) => {
    reads += 1;
    return read(queue, id);
  };
  const chance = seededChance(1);
  const figures = { guesses: 0, readsByGuesses: 0, inTime: 0, late: 0, receivedAgain: 0 };
  const latest = new Map<string, string>();
  const acks: Ack[] = [];
  let lastDueAt = 0;

  const receive = async (): Promise<void> => {
    const { body } = await post('receive', { max: 100, lease_seconds: LEASE_SECONDS });
    for (const one of receivedSchema.parse(body).deliveries) {
      latest.set(one.messageId, one.receipt);
      lastDueAt = Math.max(lastDueAt + 1_000 / ACKS_PER_SECOND, world.clock.now() + WORK_MS);
      acks.push({ ...one, dueAt: lastDueAt });
    }
  };

  const acknowledge = async (ack: Ack): Promise<void> => {
    acks.splice(acks.indexOf(ack), 1);
    const { messageId, receipt } = ack;
    const { lease } = await world.delivery('subscription-1', messageId);
    const isLatest = latest.get(messageId) === receipt;
    expect((await post('ack', { receipt })).status).toBe(isLatest ? 204 : 409);
    figures[isLatest ? (lease === undefined ? 'late' : 'inTime') : 'receivedAgain'] += 1;
  };

  const guess = async (route: keyof typeof buckets): Promise<void> => {
    const before = reads;
    const wrong = `phpull_${String(chance.int(0, 1e9)).padStart(43, '0')}`;
    const body = route === 'ack' ? { receipt: 'unknown' } : {};
    expect((await post(route, body, wrong)).status).toBe(401);
    figures.guesses += 1;
    figures.readsByGuesses += reads - before;
  };

  /** What arrives at a route in one step, in any order. The rest gets 429. */
  const arrive = async (
    route: keyof typeof buckets,
    requests: readonly (() => Promise<void>)[],
  ): Promise<void> => {
    const guesses = Array.from(
      { length: (STRANGERS_PER_SECOND * STEP_MS) / 1_000 },
      () => () => guess(route),
    );
    for (const request of shuffled([...guesses, ...requests], chance))
      if (buckets[route](world.clock.now())) await request();
  };

  return { ...world, figures, acks, receive, acknowledge, arrive };
};

it('no delivery counts as failed that was acknowledged before its next receive, among strangers at ten times the limit', async () => {
  const { acks, clock, figures, ...world } = await floodedWorld();
  const ids = Array.from({ length: DELIVERIES }, (_, index) => `m-${index}`);
  for (const id of ids) await world.publish({ id });
  while (acks.length < DELIVERIES) await world.receive();

  const startedAt = clock.now();
  for (let at = 0; acks.length > 0; at += STEP_MS) {
    expect(at).toBeLessThan(MAX_MS);
    const due = acks.filter(({ dueAt }) => dueAt <= clock.now());
    // Due again after what got 429; what is answered leaves the list.
    for (const ack of due) ack.dueAt = clock.now() + REPEAT_MS;
    await world.arrive(
      'ack',
      due.map((ack) => () => world.acknowledge(ack)),
    );
    await world.arrive('receive', at % REPEAT_MS === 0 ? [world.receive] : []);
    await world.later(STEP_MS);
    if (at % RECONCILE_MS === FIRST_RECONCILE_MS) await world.reconcile();
  }

  const ends = ids.map(async (id) => (await world.delivery('subscription-1', id)).status);
  expect(new Set(await Promise.all(ends))).toEqual(new Set(['delivered']));
  expect(figures.late).toBeGreaterThan(0);
  expect(figures.readsByGuesses).toBeLessThanOrEqual((clock.now() - startedAt) / 1_000 + 1);
});

const shuffled = <Item>(items: readonly Item[], chance: Chance): Item[] =>
  items
    .map((item) => ({ item, place: chance.next() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
