import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { metricNames, metricsInMilliseconds, metricsOfWorkers } from '../../shared/config/metrics.ts';
import {
  callApi,
  finishedDeliveries,
  finishedDelivery,
  putQueue,
  retryEnded,
  subscribe,
} from '../support/api-client.ts';
import { deployment, invoke } from '../support/deployment.ts';
import { metricsOf } from '../support/emitted-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { logLines } from '../support/log-lines.ts';
import { plantedSecrets, spellingsOf } from '../support/planted-secrets.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish, send } from '../support/sqs-messages.ts';
import { monitoredMetrics } from '../support/monitored-metrics.ts';

const { functions, ingressQueueUrl, deliveryQueueUrl } = deployment.endpoints;
const since = Date.now();
const run = randomUUID().slice(0, 8);
const story = { queue: `telemetry-${run}`, messageId: `story-${run}` };
const secrets = plantedSecrets();
const { plant } = secrets;
const signingSecret = randomBytes(32);

const receiver = await receiverOfTests();
let subscriptionId: string;
/** Everything that the functions logged in this test file. */
let lines: readonly string[];
/** Everything that reconcile logged since its deployment. Other functions may have started in earlier tests. */
let linesSinceStart: readonly string[];

beforeAll(async () => {
  const scenarios = [deliverInEveryPhase(), retryByScheduler(), waitForRateLimit()];
  const [deadLettered] = await Promise.all([sendInvalidMessages(), ...scenarios]);
  await invoke(functions.reconcile);
  lines = await linesWhenDeadLettered(deadLettered);
  linesSinceStart = await logLines([functions.reconcile]);
});

/** One retry in each phase, a second apart. The test then retries the exhausted delivery manually. */
const EVERY_PHASE = {
  retries_with_no_delay: 1,
  minimum_delay_retries: 1,
  minimum_delay: 1,
  backoff_retries: 1,
  maximum_delay: 1,
  maximum_delay_retries: 1,
};

const deliverInEveryPhase = async (): Promise<void> => {
  const { queue, messageId } = story;
  const path = `/${plant('the path of the URL')}`;
  const failure = {
    status: 500,
    body: plant('the body of an answer'),
    headers: { 'x-answer': plant('a header of an answer') },
  };
  receiver.script(path, [failure, failure, failure, failure, failure, { status: 200 }]);
  await callApi('PUT', `/v2/queues/${queue}`, { note: plant('metadata of a queue') });
  subscriptionId = await subscribe(queue, receiver.url(`${path}?key=${plant('the query of the URL')}`), {
    _retry_policy: EVERY_PHASE,
    post_headers: { authorization: `Bearer ${plant('a header of requests')}` },
    post_data: `{"wrapped": $zaqar_message$, "token": "${plant('a template')}"}`,
    filter: { data: [{ 'anything-but': plant('a filter') }] },
  });
  await callApi('POST', `/v2/queues/${queue}/subscriptions/${subscriptionId}/secret/rotate`, {
    secret: `whsec_${signingSecret.toString('base64')}`,
  });
  await publish({ queue, id: messageId, data: { data: plant('data') } });
  expect((await finishedDelivery(queue, messageId)).status).toBe('exhausted');
  await retryEnded({ queue, messageId, subscriptionId });
  expect((await finishedDelivery(queue, messageId)).status).toBe('delivered');
};

/** A retry that is late enough for EventBridge Scheduler on a busy machine, too; a rejected delivery and a filtered message. */
const retryByScheduler = async (): Promise<void> => {
  const queue = `telemetry-far-${run}`;
  await putQueue(queue, { ...EVERY_PHASE, retries_with_no_delay: 0, minimum_delay: 10, maximum_delay: 10 });
  receiver.script(`/${queue}/late`, [{ status: 503 }, { status: 200 }]);
  receiver.script(`/${queue}/no`, [{ status: 400, body: plant('a refusal') }]);
  const auth = { type: 'header', name: 'x-credential', value: plant('a credential') };
  for (const path of ['late', 'no']) await subscribe(queue, receiver.url(`/${queue}/${path}`), { auth });
  await subscribe(queue, receiver.url(`/${queue}/never`), { event_types: ['other'] });
  await publish({ queue, id: 'far', type: 'some', data: plant('data sent to several') });
  await finishedDeliveries(queue, 'far', 2);
};

/** Messages to a rate-limited subscriber, to a disabled one, and to a queue without subscriptions. */
const waitForRateLimit = async (): Promise<void> => {
  const queue = `telemetry-line-${run}`;
  await putQueue(queue);
  await publish({ queue, id: 'unmatched', data: 1 });
  await finishedDeliveries(queue, 'unmatched', 0);
  await subscribe(queue, receiver.url(`/${queue}`), { max_per_second: 0.5 });
  const off = await subscribe(queue, receiver.url(`/${queue}/off`));
  await callApi('POST', `/v2/queues/${queue}/subscriptions/${off}/disable`);
  const ids = ['a', 'b', 'c'];
  await Promise.all(ids.map((id) => publish({ queue, id, data: 1 })));
  await Promise.all(ids.map((id) => finishedDeliveries(queue, id, 2)));
};

/** Sends invalid messages and requests. Returns the ids of the messages that will be dead-lettered. */
const sendInvalidMessages = async (): Promise<string[]> => {
  const queue = `telemetry-invalid-${run}`;
  const refused = [
    `${plant('a message that is not JSON')} {`,
    JSON.stringify({ queue, data: plant('a message to an unknown queue') }),
    JSON.stringify({ queue: `${plant('an invalid queue name')}!`, data: 1 }),
  ];
  const unreadable = [
    `${plant('a job that is not JSON')} {`,
    JSON.stringify({ v: 1, kind: 'job', queue: plant('an invalid job'), message: 1 }),
  ];
  const sent = await Promise.all([
    ...refused.map((body) => send(ingressQueueUrl, body, { note: plant(`an attribute of ${body}`) })),
    ...unreadable.map((body) => send(deliveryQueueUrl, body)),
  ]);
  await callApi('PUT', `/v2/queues/${queue}`, plant('a request that is refused'));
  await callApi('POST', `/v2/queues/${queue}/subscriptions`, {
    subscriber: `http://user:${plant('a password in a URL')}@127.0.0.1/`,
    options: { [plant('an unknown option')]: 1, auth: { type: 'basic', password: plant('a password') } },
  });
  await callApi('GET', `/v2/queues/${queue}?marker=${plant('a query of a request')}`);
  await callApi('POST', `/v2/queues/${queue}/messages`, {
    messages: [{ body: plant('data by the API'), id: `by-api-${run}` }],
  });
  return sent;
};

const lineSchema = z.looseObject({ message: z.string(), service: z.string(), timestamp: z.string() });

/** The structured log lines of the product. */
const ownLines = () => structured(lines);

const structured = (all: readonly string[]) =>
  all.flatMap((line) => {
    const start = line.indexOf('{"level"');
    return start < 0 ? [] : [lineSchema.parse(JSON.parse(line.slice(start)))];
  });

/** Waits until the refusals of these messages are logged. The log lines of an invocation arrive together. */
const linesWhenDeadLettered = (ids: readonly string[]): Promise<string[]> =>
  eventually('the log lines of refused and dead-lettered messages', async () => {
    const found = await logLines(Object.values(functions), since);
    const deadLettered = structured(found).filter(({ message }) =>
      /^(message_refused|dead_lettered)$/.test(message),
    );
    return ids.every((id) => deadLettered.some((line) => line['id'] === id)) ? found : undefined;
  });

describe('the log of the deployed system', () => {
  it('shows a message from its acceptance to its last attempt by its ids', () => {
    const ofStory = ownLines().filter(
      ({ queue, messageId }) => queue === story.queue && messageId === story.messageId,
    );
    expect(ofStory.filter(({ message }) => message === 'message_accepted')).toMatchObject([
      { service: 'dispatch', matched: 1, filtered: 0 },
    ]);
    const attempts = ofStory
      .filter(({ message }) => message === 'attempt_made')
      .toSorted((one, other) => one.timestamp.localeCompare(other.timestamp));
    expect(attempts.map(({ attempt, phase, outcome }) => [attempt, phase, outcome])).toEqual([
      [1, 'initial', 'failed'],
      [2, 'immediate', 'failed'],
      [3, 'pre_backoff', 'failed'],
      [4, 'backoff', 'failed'],
      [5, 'post_backoff', 'failed'],
      [6, 'manual', 'delivered'],
    ]);
    for (const line of attempts) {
      expect(line).toMatchObject({
        service: 'deliver',
        level: 'INFO',
        version: packageJson.version,
        deployment: 'Posthaste',
        subscriptionId,
        durationMs: expect.any(Number) as number,
        dueAt: expect.any(Number) as number,
      });
    }
    expect(attempts.map(({ statusCode }) => statusCode)).toEqual([500, 500, 500, 500, 500, 200]);
    expect(ofStory.map(({ message }) => message)).toContain('retried_manually');
  });

  it('names the message in every line about a message', () => {
    const concerned =
      /^(attempt_made|attempts_delivered|message_accepted|slot_awaited|delivery_cancelled|retried_manually|wake_up_dropped)$/;
    const named = ownLines().filter(({ message }) => concerned.test(message));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter(({ queue, messageId }) => queue === undefined || messageId === undefined)).toEqual(
      [],
    );
  });

  it('contains none of the secrets planted in data, headers, URLs, templates, responses and requests', () => {
    const everything = lines.join('\n');
    // Checks that the searched lines belong to these messages.
    expect(everything).toContain(story.messageId);
    expect(everything).toContain(`by-api-${run}`);
    expect(secrets.count()).toBeGreaterThan(20);
    expect(secrets.foundIn(everything)).toEqual([]);
    expect(spellingsOf(signingSecret).filter((spelling) => everything.includes(spelling))).toEqual([]);
  });
});

describe('the metrics of the deployed system', () => {
  /** Metrics that a short run of functions without faults does not emit. */
  const ABSENT = new Set<string>([
    ...metricsOfWorkers,
    metricNames.faults,
    metricNames.awsCallsRetried,
    metricNames.awsCallsThrottled,
    metricNames.reconciled,
    // Of a pause that lasts for the retention: test/deployed/pause.test.ts.
    metricNames.deliveriesExpiring,
    // Messages are not checked by default: test/unit/dispatch/event-validation.test.ts.
    ...[metricNames.eventsInvalid, metricNames.eventsUnvalidated],
    ...[metricNames.subscriptionsFailing, metricNames.subscriptionsThrottled, metricNames.circuitsOpened],
  ]);

  it('are exactly the declared ones, in the embedded metric format, with the deployment as the only dimension', () => {
    const emitted = metricsOf([...lines, ...linesSinceStart]);
    const declared = new Set<string>(Object.values(metricNames));
    const names = new Set(emitted.map(({ name }) => name));
    expect([...declared].filter((name) => !ABSENT.has(name) && !names.has(name))).toEqual([]);
    expect([...names].filter((name) => !declared.has(name))).toEqual([]);
    for (const { namespace, dimensions, name, unit } of emitted) {
      expect({ namespace, ...dimensions }).toEqual({ namespace: 'Posthaste', deployment: 'Posthaste' });
      expect(unit).toBe([...metricsInMilliseconds].some((one) => one === name) ? 'Milliseconds' : 'Count');
    }
  });

  it('include all that the deployed alarms and graphs use, by name and dimension', async () => {
    const written = new Set(
      metricsOf([...lines, ...linesSinceStart]).map(
        ({ name, dimensions }) => `${name} by ${Object.keys(dimensions).join()}`,
      ),
    );
    const watched = (await monitoredMetrics()).filter((one) => !ABSENT.has(one.split(' ')[0] ?? ''));
    expect(watched.length).toBeGreaterThan(20);
    expect(watched.filter((one) => !written.has(one))).toEqual([]);
  });
});
