import { Problem } from '../../local/install/problem.mjs';
import { pollUntil } from '../../local/poll-until.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import { clientOf, type Deployed, runFolder, startDeployed } from '../harness/deployed.ts';
import { bySqs, noRetries } from '../operations/paths.ts';
import { type BareRetries, startBareRetries } from './bare-retries.ts';
import { type BareRetried, deliveredRetries, type Retry } from './figures.ts';
import { type By, type Cell, nameOf, playOut, type Release, thresholds } from './load.ts';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** A real HTTP server that fails the first request for a message, takes every other, and notes when they came. */
type Subscriber = {
  url: (path: string) => string;
  /** Of requests under an id (`webhook-id`), in the order of their coming: milliseconds since the epoch. */
  arrivals: (id: string) => readonly number[];
};

/** The only one of these paths that takes the first request too. */
const BARE_PATH = '/bare';

/** It ends with the stack. `failing`: the paths that fail the first. */
export const startSubscriber = async (
  stack: AsyncDisposableStack,
  failing: readonly string[],
): Promise<Subscriber> => {
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const arrivals = new Map<string, number[]>();
  const note = ({ headers, arrivedAt }: { headers: Record<string, unknown>; arrivedAt: number }): number => {
    const id = String(headers['webhook-id']);
    const all = [...(arrivals.get(id) ?? []), arrivedAt];
    arrivals.set(id, all);
    return all.length;
  };
  receiver.script(BARE_PATH, (request) => {
    note(request);
    return {};
  });
  for (const path of failing)
    receiver.script(path, (request) => (note(request) === 1 ? { status: 503 } : {}));
  return { url: receiver.url, arrivals: (id) => arrivals.get(id) ?? [] };
};

/** Enough at a time for all processes that a function may have. */
const COUNT = 100;

const WITHIN_MS = 60_000;

const QUEUE = 'warm-up';

export const WARM_UP_PATH = `/${QUEUE}`;

/**
 * Starts the functions' processes. On a few processors the starts of many are in each other's way for seconds, and that is no
 * lateness of retries. @throws Problem when nothing comes of it
 */
const warmUp = async (
  by: By,
  {
    deployed,
    bareRetries,
    subscriber,
  }: { deployed: Deployed; bareRetries: BareRetries; subscriber: Subscriber },
  signal: AbortSignal,
): Promise<void> => {
  const ours = idsOf(by);
  const bare = idsOf(`bare-${by}`);
  await deployed.makeQueue(QUEUE, bySqs(1));
  await deployed.subscribe(QUEUE, subscriber.url(WARM_UP_PATH));
  await deployed.publish(ours.map((id) => JSON.stringify({ queue: QUEUE, id, data: {} })));
  const cell = { by, delaySeconds: 1 };
  const url = subscriber.url(BARE_PATH);
  await Promise.all(bare.map((id, number) => bareRetries.send({ cell, number, id, url })));
  const came = (ids: readonly string[], requests: number): boolean =>
    ids.every((id) => subscriber.arrivals(id).length >= requests);
  const look = () => Promise.resolve(came(ours, 2) && came(bare, 1) ? true : undefined);
  const interval = { floor: 0.1, ceiling: 1 };
  if ((await pollUntil(look, { withinMs: WITHIN_MS, interval, signal })) === undefined)
    throw new Problem(`The first retries did not come in ${WITHIN_MS / 1000} s.`);
};

const idsOf = (prefix: string): readonly string[] =>
  Array.from({ length: COUNT }, (_, number) => `${QUEUE}-${prefix}-${number}`);

/** One deployment, whose threshold has retries go by one mechanism, and beside it the bare function. */
export type World = {
  cells: readonly Cell[];
  /** Sends messages that fail once, each when its time has come. */
  release: (releases: readonly Release[], signal: AbortSignal) => Promise<void>;
  /** The same by the bare function. */
  releaseBare: (releases: readonly Release[], signal: AbortSignal) => Promise<void>;
  /** Of what was released: retries that have come to the subscriber. */
  arrived: () => number;
  results: () => Promise<Results>;
};

/** Ours that were delivered, and the bare function's that came. */
export type Results = { retries: readonly Retry[]; bare: readonly BareRetried[] };

type WorldOptions = { by: By; cells: readonly Cell[]; subscriber: Subscriber; signal: AbortSignal };

/** Twice a laptop's (local/local-system.ts): an invocation may wait half a second for a retry to be due. */
const RETRY_CONCURRENCY = '10';

/** @throws Problem when it cannot be brought up */
export const startWorld = async (
  stack: AsyncDisposableStack,
  { by, cells, subscriber, signal }: WorldOptions,
): Promise<World> => {
  const deployed = await startDeployed(stack, {
    folder: runFolder(`lateness-${by}`),
    settings: { schedulerThreshold: String(thresholds[by]), retryConcurrency: RETRY_CONCURRENCY },
    signal,
  });
  const { endpoints } = deployed;
  for (const cell of cells) await makeCell(deployed, subscriber, cell);
  const bareRetries = await startBareRetries(endpoints);
  await warmUp(by, { deployed, bareRetries, subscriber }, signal);
  const records = DynamoDBDocumentClient.from(new DynamoDBClient(clientOf(endpoints)));
  const ours = new Map<string, Cell>();
  const bare = new Map<string, { cell: Cell; dueAt: number }>();
  return {
    cells,
    release: (releases, stopped) =>
      playOut(
        releases,
        async (due) => {
          for (const release of due) ours.set(idOf(release), release.cell);
          await deployed.publish(due.map(bodyOf));
        },
        stopped,
      ),
    releaseBare: (releases, stopped) =>
      playOut(
        releases,
        async (due) => {
          const sent = due.map(async ({ cell, number }) => {
            const id = `bare-${idOf({ cell, number })}`;
            const retry = { cell, number, id, url: subscriber.url(BARE_PATH) };
            bare.set(id, { cell, dueAt: await bareRetries.send(retry) });
          });
          await Promise.all(sent);
        },
        stopped,
      ),
    arrived: () =>
      [...ours.keys()].filter((id) => subscriber.arrivals(id).length > 1).length +
      [...bare.keys()].filter((id) => subscriber.arrivals(id).length > 0).length,
    results: async () => {
      const attempts = await deliveredRetries(records, endpoints.deliveriesTable);
      return {
        retries: [...ours].flatMap(([id, cell]) => {
          const [, arrivedAt] = subscriber.arrivals(id);
          const { startedAt, dueAt, by: broughtBy } = attempts.get(id) ?? {};
          return arrivedAt === undefined || startedAt === undefined || dueAt === undefined
            ? []
            : [{ cell, by: broughtBy, dueAt, startedAt, arrivedAt }];
        }),
        bare: [...bare].flatMap(([id, { cell, dueAt }]) =>
          subscriber.arrivals(id).map((arrivedAt) => ({ cell, dueAt, arrivedAt })),
        ),
      };
    },
  };
};

const makeCell = async ({ makeQueue, subscribe }: Deployed, subscriber: Subscriber, cell: Cell) => {
  const { delaySeconds } = cell;
  await makeQueue(nameOf(cell), {
    ...noRetries,
    minimum_delay_retries: 1,
    minimum_delay: delaySeconds,
    maximum_delay: delaySeconds,
  });
  await subscribe(nameOf(cell), subscriber.url(pathOf(cell)));
};

export const pathOf = (cell: Cell): string => `/${nameOf(cell)}`;

const idOf = ({ cell, number }: Omit<Release, 'afterMs'>): string => `${nameOf(cell)}-${number}`;

const bodyOf = (release: Release): string =>
  JSON.stringify({ queue: nameOf(release.cell), id: idOf(release), data: { number: release.number } });
