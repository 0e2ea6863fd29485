import { type DeliveryDetail, readBooks } from '../../../../api-client/operations.ts';
import type { Seen } from '../../../../functions/acceptance/receiver.ts';
import { localApiUrl, type Outputs, parseResources } from '../../../../local/endpoints.ts';
import { resolveApi } from '../../../api/api-access.ts';
import { systemSleep } from '../../../terminal.ts';
import { type Check, failed, judge, notShown, type Outcome } from '../check.ts';
import { behave, createQueue, ended, requests, type Subscribed, subscribe, within } from '../scenario.ts';
import { readOutputsBeside } from '../stacks.ts';
import { createWorld, type World } from '../world.ts';

/** Their jobs come to deliver at about the same time. */
const MESSAGES = 3;

/** Each message goes to all of them, by one job. */
const SUBSCRIPTIONS = 4;

/** docs/concepts.md#crashes. By design it is the visibility timeout of the delivery queue, 35 s, and what follows it. */
const WITHIN_SECONDS = 60;

export const crashChecks: readonly Check[] = [
  {
    id: 'crash',
    title: 'What deliver held when it was killed is delivered within a minute, and on record',
    seconds: 90,
    run: async (world) => {
      const name = `${world.name}Crash`;
      const outputs = await readOutputsBeside(world, 'Crash');
      const { CrashStatus: status } = outputs;
      if (status === undefined)
        return notShown(
          `it needs a pipeline that may be killed: npx cdk deploy ${name} -a "$RECEIVER" -c deployment=${world.name} -c crash=true (docs/operations.md, "After you deploy")`,
        );
      const crash = await openPipeline(world, name, outputs);
      return judgeCrash(await killOnce(crash, Number(status)), name, Number(status));
    },
  },
];

/** The same run on the pipeline of that stack. */
async function openPipeline(world: World, name: string, outputs: Outputs): Promise<World> {
  const { apiId, ...resources } = parseResources(outputs);
  const { access, deployment, isLocal, prefix, undo } = world;
  // Its host name does not resolve on the local AWS.
  const apiUrl = isLocal ? localApiUrl(new URL(access.apiUrl).origin, apiId) : resources.apiUrl;
  const opened = { ...resources, apiUrl, name, client: deployment.client };
  // Without the variables: a given URL or token is that of the accepted deployment.
  const given = { ...world, deployment: opened, access: await resolveApi(opened, {}) };
  return { ...(await createWorld(given, world, systemSleep)), prefix, undo };
}

/** A delivery, and its requests at the receiver. */
type Requested = {
  delivery: Pick<DeliveryDetail, 'messageId' | 'status' | 'attempts'>;
  seen: readonly Seen[];
};

/** Delivers to subscriptions of which one kills deliver by its first answer. */
async function killOnce(crash: World, status: number): Promise<readonly Requested[]> {
  const queue = await createQueue(crash, 'crash');
  const killing = await subscribe(crash, queue, { behaviour: { status } });
  const subscribed = [killing];
  while (subscribed.length < SUBSCRIPTIONS) subscribed.push(await subscribe(crash, queue));
  const messages = Array.from({ length: MESSAGES }, (_, number) => ({ queue, data: { number } }));
  const published = await crash.publisher.publishBatch(messages);
  await requests(crash, killing, 1);
  await behave(crash, killing, { status: 200 });
  await within(crash, { what: 'every delivery ends', seconds: 2 * WITHIN_SECONDS }, async () => {
    const { books } = await crash.api.call(readBooks, { path: { queue } });
    return (books.matched === MESSAGES * SUBSCRIPTIONS && books.pending === 0) || undefined;
  });
  return Promise.all(published.flatMap(({ id }) => subscribed.map((one) => findRequested(crash, one, id))));
}

/** Once the receiver shows the request that is on record: what it saw comes with a delay. */
async function findRequested(
  crash: World,
  { key, ...subscribed }: Subscribed,
  message: string,
): Promise<Requested> {
  const delivery = await ended(crash, { ...subscribed, message });
  const recorded = Math.floor(Date.parse(delivery.attempts.at(-1)?.startedAt ?? '') / 1000) * 1000;
  const seen = await within(crash, { what: `the recorded request of ${message} arrives` }, () => {
    const found = crash.receiver.seen(key).filter(({ messageId }) => messageId === message);
    return found.some(({ startedAt }) => startedAt === recorded) ? found : undefined;
  });
  return { delivery, seen };
}

/**
 * A request that was answered with `status` succeeded. If it is on record as lost, the process ended between the answer and
 * the record: nothing else makes deliver repeat a success.
 */
export function judgeCrash(all: readonly Requested[], stack: string, status: number): Outcome {
  const killing = all.filter(({ seen }) => seen.some((request) => request.status === status));
  if (killing.length === 0 || killing.some((one) => countLost(one) === 0))
    return failed(
      `deliver was not killed by the answer ${status}: it is on record`,
      `Deploy the stack ${stack} again: its deliver must have the variable NODE_OPTIONS of the template.`,
    );
  const repeated = all.filter(({ seen }) => seen.length > 1).length;
  const requested = all.flatMap(({ seen }) => seen.map(({ at }) => at));
  const seconds = (Math.max(...requested) - Math.min(...requested)) / 1000;
  const faults = [
    ...all.flatMap(findFaults),
    seconds > WITHIN_SECONDS && `the last request came ${seconds.toFixed(1)} s after the first`,
  ];
  return judge(
    faults,
    `all ${all.length} delivered, ${repeated} of them by a second request, the last ${seconds.toFixed(1)} s after the first; each lost request is on record`,
    `Keep the logs of dispatch and deliver of ${stack} of these minutes, and report it. Were invocations throttled? Then the account has too little concurrency.`,
  );
}

function findFaults(one: Requested): (string | false)[] {
  const { delivery, seen } = one;
  const { messageId, status, attempts } = delivery;
  return [
    status !== 'delivered' && `a delivery of ${messageId} is ${status}`,
    attempts.length !== 1 && `a delivery of ${messageId} has ${attempts.length} attempts on record`,
    seen.length > 1 + countLost(one) &&
      `${seen.length} requests arrived of a delivery of ${messageId}, and ${1 + countLost(one)} are on record`,
  ];
}

function countLost({ delivery }: Requested): number {
  return delivery.attempts.reduce((sum, { lost = 0 }) => sum + lost, 0);
}
