import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { clientOf, runFolder, startDeployed, type Deployed } from '../measured/deployed.ts';
import { noRetries } from '../operations/paths.ts';
import { startBareRetries } from './bare-retries.ts';
import { nameOf, thresholds, type By, type Cell } from './cells.ts';
import type { BareRetried, Retry } from './figures.ts';
import { playOut, type Release } from './releases.ts';
import { deliveredRetries } from './retry-records.ts';
import { BARE_PATH, type Subscriber } from './subscriber.ts';
import { warmUp } from './warm-up.ts';

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

export type WorldOptions = { by: By; cells: readonly Cell[]; subscriber: Subscriber; signal: AbortSignal };

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
