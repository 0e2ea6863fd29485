import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb';
import { clientOf } from '../../local/endpoints.ts';
import { Problem } from '../../local/install/problem.mjs';
import { pollUntil } from '../../local/poll-until.ts';
import { deliveryOf } from '../../shared/adapters/dynamodb/delivery-item.ts';
import { deliveryPrefix } from '../../shared/adapters/dynamodb/delivery-keys.ts';
import { primaryKey } from '../../shared/config/tables.ts';
import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import { startDeployed } from '../harness/deployed.ts';
import { bySqs, noRetries } from '../operations/paths.ts';
import { startBareRetries } from './bare-retries.ts';
import type { Results } from './figures.ts';
import { type By, type Cell, nameOf, playOut, type Release, thresholds } from './load.ts';

/** A real HTTP server that fails the first request for a message, takes every other, and notes when they came. */
type Subscriber = {
  url: (path: string) => string;
  /** Of requests under an id (`webhook-id`), in the order of their coming: milliseconds since the epoch. */
  arrivals: (id: string) => readonly number[];
};

/** The only path that takes the first request too. */
const BARE = '/bare';

const WARM_UP = 'warm-up';

/** It ends with the stack. */
export async function startSubscriber(
  stack: AsyncDisposableStack,
  cells: readonly Cell[],
): Promise<Subscriber> {
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const arrivals = new Map<string, number[]>();
  for (const path of [BARE, ...[WARM_UP, ...cells.map(nameOf)].map((name) => `/${name}`)])
    receiver.script(path, ({ headers, arrivedAt }) => {
      const id = String(headers['webhook-id']);
      const all = [...(arrivals.get(id) ?? []), arrivedAt];
      arrivals.set(id, all);
      return all.length === 1 && path !== BARE ? { status: 503 } : {};
    });
  return { url: receiver.url, arrivals: (id) => arrivals.get(id) ?? [] };
}

/** One deployment, whose threshold has retries go by one mechanism, and beside it the bare function. */
export type World = {
  cells: readonly Cell[];
  /** Sends messages that fail once, each when its time has come, and the same to the bare function. */
  release: (ours: readonly Release[], bare: readonly Release[], signal: AbortSignal) => Promise<unknown>;
  /** Of what was released: retries that have come to the subscriber. */
  arrived: () => number;
  results: () => Promise<Results>;
};

type WorldOptions = { by: By; cells: readonly Cell[]; subscriber: Subscriber; signal: AbortSignal };

/** Twice a laptop's (local/local-system.ts): an invocation may wait half a second for a retry to be due. */
const RETRY_CONCURRENCY = '10';

/** @throws Problem when it cannot be brought up */
export async function startWorld(stack: AsyncDisposableStack, options: WorldOptions): Promise<World> {
  const { by, cells, subscriber, signal } = options;
  const { endpoints, makeQueue, subscribe, publish } = await startDeployed(stack, {
    folder: runFolder(`lateness-${by}`),
    settings: { schedulerThreshold: String(thresholds[by]), retryConcurrency: RETRY_CONCURRENCY },
    signal,
  });
  for (const cell of cells) {
    const delay = { minimum_delay: cell.delaySeconds, maximum_delay: cell.delaySeconds };
    await makeQueue(nameOf(cell), { ...noRetries, minimum_delay_retries: 1, ...delay });
    await subscribe(nameOf(cell), subscriber.url(`/${nameOf(cell)}`));
  }
  const bareRetries = await startBareRetries(endpoints);
  const sendBare = async (release: Omit<Release, 'afterMs'>, id: string): Promise<number> =>
    bareRetries.send(release, { id, url: subscriber.url(BARE) });

  await makeQueue(WARM_UP, bySqs(1));
  await subscribe(WARM_UP, subscriber.url(`/${WARM_UP}`));
  await warmUp(options, {
    ours: (ids) => publish(ids.map((id) => JSON.stringify({ queue: WARM_UP, id, data: {} }))),
    bare: (ids) =>
      Promise.all(ids.map((id, number) => sendBare({ cell: { by, delaySeconds: 1 }, number }, id))),
  });

  const records = DynamoDBDocumentClient.from(new DynamoDBClient(clientOf(endpoints)));
  const ours = new Map<string, Cell>();
  const bare = new Map<string, { cell: Cell; dueAt: number }>();
  const sendOurs = async (due: readonly Release[]): Promise<void> => {
    for (const release of due) ours.set(idOf(release), release.cell);
    await publish(
      due.map((release) =>
        JSON.stringify({ queue: nameOf(release.cell), id: idOf(release), data: { number: release.number } }),
      ),
    );
  };
  const sendAllBare = async (due: readonly Release[]): Promise<void> => {
    const sent = due.map(async (release) => {
      const id = `bare-${idOf(release)}`;
      bare.set(id, { cell: release.cell, dueAt: await sendBare(release, id) });
    });
    await Promise.all(sent);
  };
  return {
    cells,
    release: (releases, bareReleases, stopped) =>
      Promise.all([playOut(releases, sendOurs, stopped), playOut(bareReleases, sendAllBare, stopped)]),
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
}

function idOf({ cell, number }: Omit<Release, 'afterMs'>): string {
  return `${nameOf(cell)}-${number}`;
}

/** Enough at a time for all processes that a function may have. */
const COUNT = 100;

const WITHIN_MS = 60_000;

/**
 * Starts the functions' processes. On a few processors the starts of many are in each other's way for seconds, and that is no
 * lateness of retries. @throws Problem when nothing comes of it
 */
async function warmUp(
  { by, subscriber: { arrivals }, signal }: WorldOptions,
  send: Record<'ours' | 'bare', (ids: readonly string[]) => Promise<unknown>>,
): Promise<void> {
  const idsOf = (prefix: string): string[] =>
    Array.from({ length: COUNT }, (_, number) => `${WARM_UP}-${prefix}-${number}`);
  const [ours, bare] = [idsOf(by), idsOf(`bare-${by}`)];
  await send.ours(ours);
  await send.bare(bare);
  const came = (ids: readonly string[], requests: number): boolean =>
    ids.every((id) => arrivals(id).length >= requests);
  const look = () => Promise.resolve(came(ours, 2) && came(bare, 1) ? true : undefined);
  const interval = { floor: 0.1, ceiling: 1 };
  if ((await pollUntil(look, { withinMs: WITHIN_MS, interval, signal })) === undefined)
    throw new Problem(`The first retries did not come in ${WITHIN_MS / 1000} s.`);
}

/** Items. The local AWS does nothing else while it puts a page together. */
const PAGE = 200;

/** Of deliveries that ended with their first retry: that, by the message's id. All others are left out. */
async function deliveredRetries(
  client: DynamoDBDocumentClient,
  TableName: string,
): Promise<ReadonlyMap<string, Attempt>> {
  const found = new Map<string, Attempt>();
  const scan = {
    TableName,
    Limit: PAGE,
    FilterExpression: 'begins_with(#sort, :delivery)',
    ExpressionAttributeNames: { '#sort': primaryKey.sort },
    ExpressionAttributeValues: { ':delivery': deliveryPrefix },
  };
  for await (const { Items = [] } of paginateScan({ client }, scan))
    for (const { key, status, attempts } of Items.map(deliveryOf)) {
      const [, retry, ...rest] = attempts;
      if (status === 'delivered' && retry !== undefined && rest.length === 0) found.set(key.messageId, retry);
    }
  return found;
}
