import { setTimeout as pause } from 'node:timers/promises';
import { paginateScan } from '@aws-sdk/lib-dynamodb';
import { toClientOptions } from '../../local/endpoints.ts';
import { Problem } from '../../local/install/problem.mjs';
import { pollUntil } from '../../local/poll-until.ts';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { toDelivery } from '../../shared/adapters/dynamodb/deliveries/delivery-item.ts';
import { deliveryPrefix } from '../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import { primaryKey } from '../../shared/config/tables.ts';
import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import { type Receiver, startReceiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import { startDeployed } from '../harness/deployed.ts';
import { NO_RETRIES } from '../../test/support/builders.ts';
import { retriesAfter } from '../operations/loads.ts';
import {
  type SendBare,
  startBareRetries,
  type By,
  type Cell,
  nameOf,
  type Results,
  thresholds,
} from './bare-retries.ts';

const BARE = 'bare';
const WARM_UP = 'warm-up';

/** Fails the first request for a message, except those of the bare function. It ends with the stack. */
export async function startSubscriber(stack: AsyncDisposableStack, cells: readonly Cell[]) {
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const arrivals = new Map<string, number[]>();
  for (const path of [BARE, WARM_UP, ...cells.map(nameOf)])
    receiver.script(`/${path}`, ({ headers, arrivedAt }) => {
      const id = String(headers['webhook-id']);
      const all = [...(arrivals.get(id) ?? []), arrivedAt];
      arrivals.set(id, all);
      return all.length === 1 && path !== BARE ? { status: 503 } : {};
    });
  return {
    url: (path: string): ReturnType<Receiver['url']> => receiver.url(`/${path}`),
    /** Times of the requests for a message (`webhook-id`), in ms since the epoch. */
    arrivals: (id: string): readonly number[] => arrivals.get(id) ?? [],
  };
}

type Subscriber = Awaited<ReturnType<typeof startSubscriber>>;

/** A message of a cell, and when it is sent, in ms after the start. */
type Release = { afterMs: number; cell: Cell; number: number };

/** `seconds`: from the first message to the last retry. */
type Load = { count: number; bareCount: number; seconds: number };

type WorldOptions = { by: By; cells: readonly Cell[]; subscriber: Subscriber; signal: AbortSignal };

/** Twice that of a laptop (local/local-system.ts): an invocation may wait half a second for its retry to be due. */
const RETRY_CONCURRENCY = '10';

export type World = Awaited<ReturnType<typeof startWorld>>;

/**
 * One deployment whose threshold sends retries by one mechanism, and beside it the bare function.
 * @throws Problem when it cannot be started
 */
export async function startWorld(stack: AsyncDisposableStack, options: WorldOptions) {
  const { by, cells, subscriber, signal } = options;
  const { endpoints, makeQueue, subscribe, publish } = await startDeployed(stack, {
    folder: runFolder(`lateness-${by}`),
    settings: { schedulerThreshold: String(thresholds[by]), retryConcurrency: RETRY_CONCURRENCY },
    signal,
  });
  for (const cell of cells) {
    const delay = { minimum_delay: cell.delaySeconds, maximum_delay: cell.delaySeconds };
    await makeQueue(nameOf(cell), { ...NO_RETRIES, minimum_delay_retries: 1, ...delay });
    await subscribe(nameOf(cell), subscriber.url(nameOf(cell)));
  }
  await makeQueue(WARM_UP, retriesAfter(1, 1));
  await subscribe(WARM_UP, subscriber.url(WARM_UP));
  const send = (messages: readonly { queue: string; id: string }[]) =>
    publish(messages.map((message) => JSON.stringify({ ...message, data: {} })));
  const sendOneBare = await startBareRetries(endpoints, subscriber.url(BARE));
  await warmUp(options, send, sendOneBare);

  const sent = new Map<string, Cell>();
  const sentBare = new Map<string, { cell: Cell; dueAt: number }>();
  const sendFailing = (due: readonly Release[]): Promise<void> => {
    for (const release of due) sent.set(idOf(release), release.cell);
    return send(due.map((release) => ({ queue: nameOf(release.cell), id: idOf(release) })));
  };
  const sendBare = async (due: readonly Release[]): Promise<void> => {
    const sends = due.map(async (release) => {
      const id = `${BARE}-${idOf(release)}`;
      sentBare.set(id, { cell: release.cell, dueAt: await sendOneBare(release, id) });
    });
    await Promise.all(sends);
  };
  const client = dynamoClient(toClientOptions(endpoints));
  return {
    cells,
    /** Sends messages that fail once, spread over the time, and the same to the bare function. */
    release: ({ count, bareCount, seconds }: Load): Promise<unknown> =>
      Promise.all([
        sendInTime(releasesOf(cells, count, seconds), sendFailing, signal),
        sendInTime(releasesOf(cells, bareCount, seconds), sendBare, signal),
      ]),
    /** Retries that have arrived. */
    arrived: (): number =>
      [...sent.keys()].filter((id) => subscriber.arrivals(id).length > 1).length +
      [...sentBare.keys()].filter((id) => subscriber.arrivals(id).length > 0).length,
    results: async (): Promise<Results> => {
      const attempts = await deliveredRetries(client, endpoints.deliveriesTable);
      return {
        retries: [...sent].flatMap(([id, cell]) => {
          const [, arrivedAt] = subscriber.arrivals(id);
          const { startedAt, dueAt, by: wokenBy } = attempts.get(id) ?? {};
          return arrivedAt === undefined || startedAt === undefined || dueAt === undefined
            ? []
            : [{ cell, by: wokenBy, dueAt, startedAt, arrivedAt }];
        }),
        bare: [...sentBare].flatMap(([id, retry]) =>
          subscriber.arrivals(id).map((arrivedAt) => ({ ...retry, arrivedAt })),
        ),
      };
    },
  };
}

function idOf({ cell, number }: Pick<Release, 'cell' | 'number'>): string {
  return `${nameOf(cell)}-${number}`;
}

/** Spreads the messages of each cell evenly, with its delay left at the end, and the cells in turns: a constant load. */
function releasesOf(cells: readonly Cell[], count: number, seconds: number): readonly Release[] {
  return cells
    .flatMap((cell, turn) =>
      Array.from({ length: count }, (_, number) => {
        const part = (number + turn / cells.length) / count;
        return { afterMs: part * (seconds - cell.delaySeconds) * 1000, cell, number };
      }),
    )
    .toSorted((one, other) => one.afterMs - other.afterMs);
}

/** Sends each at its time, together with those that became due meanwhile. */
async function sendInTime(
  releases: readonly Release[],
  send: (due: readonly Release[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const start = performance.now();
  const left = [...releases];
  for (let next = left[0]; next !== undefined; next = left[0]) {
    await pause(Math.max(0, next.afterMs - (performance.now() - start)), undefined, { signal });
    const now = performance.now() - start;
    const later = left.findIndex(({ afterMs }, index) => index > 0 && afterMs > now);
    await send(left.splice(0, later === -1 ? left.length : later));
  }
}

/** Enough at a time for all processes of a function. */
const COUNT = 100;

const WITHIN_MS = 60_000;

/**
 * Starts the functions' processes, whose starts would delay the first retries by seconds.
 * @throws Problem when no retries come
 */
async function warmUp(
  { by, subscriber, signal }: WorldOptions,
  send: (messages: readonly { queue: string; id: string }[]) => Promise<void>,
  sendBare: SendBare,
): Promise<void> {
  const numbers = Array.from({ length: COUNT }, (_, number) => number);
  const failing = (number: number): string => `${WARM_UP}-${by}-${number}`;
  const bare = (number: number): string => `${BARE}-${failing(number)}`;
  await send(numbers.map((number) => ({ queue: WARM_UP, id: failing(number) })));
  await Promise.all(
    numbers.map((number) => sendBare({ cell: { by, delaySeconds: 1 }, number }, bare(number))),
  );
  const came = (): boolean =>
    numbers.every(
      (number) =>
        subscriber.arrivals(failing(number)).length > 1 && subscriber.arrivals(bare(number)).length > 0,
    );
  const look = () => Promise.resolve(came() || undefined);
  const interval = { floor: 0.1, ceiling: 1 };
  if ((await pollUntil(look, { withinMs: WITHIN_MS, interval, signal })) === undefined)
    throw new Problem(`The first retries did not come in ${WITHIN_MS / 1000} s.`);
}

/** Items. The local AWS does nothing else while it answers with a page. */
const PAGE = 200;

/** The second attempts of deliveries that ended with them, by the message's id. */
async function deliveredRetries(
  client: ReturnType<typeof dynamoClient>,
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
    for (const { key, status, attempts } of Items.map(toDelivery)) {
      const [, retry, ...rest] = attempts;
      if (status === 'delivered' && retry !== undefined && rest.length === 0) found.set(key.messageId, retry);
    }
  return found;
}
