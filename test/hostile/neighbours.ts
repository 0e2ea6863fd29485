import { seededChance } from '../support/chance.ts';
import { faultsOf } from './bounds.ts';
import type { KindName } from './kinds/all-kinds.ts';
import { type Addressee, model, startPipeline } from './modelled-pipeline.ts';
import { HEALTHY, type Processes, type Receivers } from './run.ts';

/**
 * A selection of kinds. Twenty deliveries of each and the healthy ones make fewer than 100 batches of ten, so that
 * `deliverConcurrency` suffices even if every batch contains a delivery that hangs.
 */
export const neighbours = [
  'refused',
  'reset_at_once',
  'mute',
  'hang',
  'reset',
  'broken_status_line',
  'not_http',
  'informational_flood',
  'slow_headers',
  'endless_headers',
  'many_headers',
  'giant_header',
  'header_bytes',
  'redirect_loop',
  'body_drip',
  'endless_body',
  'large_body',
  'gzip_bomb',
  'reset_in_body',
  'length_too_long',
  'broken_chunks',
  'trailer_flood',
  'second_answer',
  'early_answer',
  'expired_certificate',
  'unknown_issuer',
  'wrong_name',
  'mute_tls',
  'half_handshake',
  'endless_over_tls',
] as const satisfies readonly KindName[];

type NeighboursRequest = {
  /** Hostile receivers of each kind, with one delivery each. */
  ofEach: number;
  attemptTimeoutMs: number;
  seed: number;
};

/**
 * Runs healthy deliveries beside hostile ones, in an order that the seed determines. The control run takes place at
 * the same time in separate processes, so that other load on the machine slows both.
 */
export const runNeighbours = async (
  processes: Processes,
  receivers: Receivers,
  { ofEach, attemptTimeoutMs, seed }: NeighboursRequest,
) => {
  const healthy: [Addressee['name'], number] = [HEALTHY, model.healthySubscribers];
  const subscriptions = new Map([healthy]);
  const control = await startPipeline(processes, receivers, { attemptTimeoutMs, subscriptions });
  const crowded = await startPipeline(processes, receivers, {
    attemptTimeoutMs,
    subscriptions: new Map([healthy, ...neighbours.map((name) => [name, ofEach] as const)]),
  });
  await Promise.all([control.deliver(shuffled(0, seed)), crowded.deliver(shuffled(ofEach, seed))]);

  const besideHostile = crowded.attemptsAt(HEALTHY);
  const alone = control.attemptsAt(HEALTHY);
  const undelivered = [...besideHostile, ...alone].filter(({ outcome }) => outcome !== 'delivered').length;
  const failed = crowded.failed() + control.failed();
  return {
    ofEach,
    /** Latencies of the healthy deliveries beside the hostile ones. */
    beside: latenciesOf(besideHostile),
    /** Latencies of the control run: the same healthy deliveries on a separate pipeline. */
    control: latenciesOf(alone),
    /** Attempts at hostile receivers, including retries. */
    hostileAttempts: neighbours.reduce((sum, name) => sum + crowded.attemptsAt(name).length, 0),
    mostBusy: await crowded.mostBusy(),
    broken: [
      ...neighbours.flatMap((name) => faultsOf(name, crowded.attemptsAt(name), attemptTimeoutMs)),
      ...(undelivered === 0 ? [] : [`${undelivered} healthy attempts were not delivered`]),
      ...(failed === 0 ? [] : [`${failed} messages were not acknowledged`]),
    ],
  };
};

export type NeighboursResult = Awaited<ReturnType<typeof runNeighbours>>;

const shuffled = (ofEach: number, seed: number): Addressee[] => {
  const chance = seededChance(seed);
  const several = (name: Addressee['name'], count: number, subscribers: number): Addressee[] =>
    Array.from({ length: count }, (_, index) => ({ name, number: (index % subscribers) + 1 }));
  return [
    ...several(HEALTHY, model.healthyDeliveries, model.healthySubscribers),
    ...neighbours.flatMap((name) => several(name, ofEach, ofEach)),
  ]
    .map((addressee) => ({ addressee, place: chance.next() }))
    .sort((one, other) => one.place - other.place)
    .map(({ addressee }) => addressee);
};

/** Milliseconds. `waited`: from the queue to the request; `done`: from the queue to the record of the first attempt. */
type Latency = { waitedMs: number; doneMs: number };

type Quantiles = { p50: number; p99: number };

export type Latencies = { deliveries: number; waited: Quantiles; done: Quantiles };

const latenciesOf = (all: readonly Latency[]): Latencies => ({
  deliveries: all.length,
  waited: quantilesOf(all.map(({ waitedMs }) => waitedMs)),
  done: quantilesOf(all.map(({ doneMs }) => doneMs)),
});

/** Nearest-rank quantiles. */
const quantilesOf = (values: readonly number[]): Quantiles => {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (part: number): number => sorted[Math.ceil(part * sorted.length) - 1] ?? NaN;
  return { p50: at(0.5), p99: at(0.99) };
};
