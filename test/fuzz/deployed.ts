import assert from 'node:assert/strict';
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import * as fc from 'fast-check';
import * as z from 'zod';
import type { Message, MessageHead } from '../../shared/domain/message/message.ts';
import { parseIngress } from '../../shared/wire/ingress/message.ts';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { parseOperation } from '../../shared/wire/jobs/operation.ts';
import { eventually } from '../support/eventually.ts';
import { received } from '../unit/wire/ingress-samples.ts';
import { callerOf } from '../chaos/deployed-system.ts';
import type { FuzzedAws } from './fuzzed-aws.ts';
import { nearlyJson } from './input.ts';
import { ingressBody, jobs, operations } from './parsers.ts';
import {
  checkAnswer,
  checkStored,
  type FuzzedRequest,
  NAMES,
  renamed,
  requestOf,
  requestsTo,
  routesIn,
  SECRET,
  SUBSCRIPTION,
} from './requests.ts';
import { type Outcome, target, type Target } from './target.ts';

/** A target that needs the deployed system. */
export type DeployedTarget = { name: string; on: (aws: FuzzedAws) => Target };

/** Each call of the local AWS takes some ten milliseconds, and what runs meanwhile shares the processors with it. */
const CALL_MS = 10_000;

const subscribed = z.object({ subscription_id: z.string() });

/** Hosts that requests name, in place of which the deployed system gets addresses of this machine. */
const HOSTS = { subscriber: 'https://a.example/', tokens: 'https://login.example/' } as const;

/** Requests to every route of the deployed API. Each round has a new queue, with a message that its subscriber rejects. */
const routes: DeployedTarget = {
  name: 'routes of the deployed API',
  on: (aws) => ({
    name: routes.name,
    weight: 1,
    run: async (options) => {
      const { apiUrl, receiver, checkFunctions } = aws;
      const since = Date.now();
      aws.receiver.forget();
      const call = callerOf(aws.system.endpoints);
      const queue = `orders-${options.seed}-${since}`;
      const subscriber = receiver.url('/');
      receiver.script('/first', [{ status: 400 }]);
      await call('PUT', `/v2/queues/${queue}`, {});
      const { subscription_id } = subscribed.parse(
        await call('POST', `/v2/queues/${queue}/subscriptions`, {
          ...SUBSCRIPTION,
          subscriber: `${subscriber}first`,
        }),
      );
      await call('POST', `/v2/queues/${queue}/messages`, { messages: [{ id: NAMES.message, body: 1 }] });
      const names = new Map([
        [NAMES.queue, queue],
        [NAMES.subscription, subscription_id],
        [HOSTS.subscriber, subscriber],
        [HOSTS.tokens, 'https://127.0.0.1:9/'],
      ]);
      const isOnThisMachine = (body: string): boolean =>
        [...body.matchAll(/https?:[^"]*/gi)].every(
          ([url]) => url.startsWith(subscriber) || url.startsWith('https://127.0.0.1:9/'),
        );
      const check = async (given: FuzzedRequest): Promise<boolean> => {
        const request = requestOf(given, apiUrl, names);
        if (!isOnThisMachine(request.init.body ?? '')) return false;
        const response = await fetch(request.url, request.init);
        const answered = await response.text();
        const isAccepted = checkAnswer(given, response.status, answered);
        if (isAccepted) {
          const called = request.url.href.slice(apiUrl.length).replace(/\?.*$/, '');
          await checkStored(given, { called, body: request.init.body, answered }, call);
        }
        return isAccepted;
      };
      const input = requestsTo(routesIn(await call('GET', '/v2/openapi.json')));
      const outcome = await target(routes.name, input, check, { hangMs: CALL_MS, shrinks: false }).run(
        options,
      );
      return outcome.failed ? outcome : withCheck(outcome, () => checkFunctions(since, SECRET));
    },
  }),
};

const withCheck = async (outcome: Outcome, check: () => Promise<void>): Promise<Outcome> => {
  try {
    await check();
    return outcome;
  } catch (error) {
    return { ...outcome, failed: true, error };
  }
};

type Sent = { body: string; id: string };

const sendTo = async (
  { system }: FuzzedAws,
  queueUrl: string,
  bodies: readonly string[],
): Promise<Sent[]> => {
  const sent: Sent[] = [];
  for (const body of bodies) {
    const { MessageId: id = '' } = await system.sqs.send(
      new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body }),
    );
    sent.push({ body, id });
  }
  return sent;
};

/** What SQS takes, in an amount that the local AWS handles (Amazon SQS API reference, SendMessage). */
const isSendable = (body: string): boolean =>
  body !== '' && !/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u.test(body);

/** Takes all messages off a queue, and returns their bodies. */
const taken = async ({ system: { sqs } }: FuzzedAws, QueueUrl: string): Promise<string[]> => {
  const bodies: string[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }),
    );
    if (Messages.length === 0) return bodies;
    for (const { Body = '', ReceiptHandle } of Messages) {
      bodies.push(Body);
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    }
  }
};

/** Messages to the ingress queue: what dispatch refuses is a dead letter, and the subscriber gets the data of the rest. */
const ingress: DeployedTarget = {
  name: 'deployed ingress queue',
  on: (aws) => ({
    name: ingress.name,
    weight: 0.2,
    run: async ({ seed, runs }) => {
      const since = Date.now();
      aws.receiver.forget();
      const { ingressQueueUrl, ingressDeadLetterUrl } = aws.system.endpoints;
      const queue = `ingress-${seed}-${since}`;
      const path = `/${queue}`;
      const call = callerOf(aws.system.endpoints);
      await call('PUT', `/v2/queues/${queue}`, {});
      const options = { ...SUBSCRIPTION.options, raw_delivery: true };
      await call('POST', `/v2/queues/${queue}/subscriptions`, {
        subscriber: aws.receiver.url(path),
        options,
      });
      const bodies = sampled(ingressBody, { seed, runs }).map((body) =>
        renamed(body, new Map([['orders', queue]])),
      );
      const sent = await sendTo(aws, ingressQueueUrl, bodies);
      const parsed = sent.map(({ body, id }) => ({
        body,
        read: parseIngress({ ...received(body), sqsMessageId: id, sentAt: since }, {}),
      }));
      const refused = parsed.filter(({ read }) => !read.ok).map(({ body }) => body);
      const outcome = { accepted: sent.length - refused.length, refused: refused.length };
      return withCheck({ ...outcome, failed: false, input: bodies, error: null }, async () => {
        await aws.drained([ingressQueueUrl]);
        const letters = await taken(aws, ingressDeadLetterUrl);
        // There may be no queue of another name, and no data where a message refers to them.
        const mayFail = new Set(
          parsed.filter(({ read }) => read.ok && !isFor(queue, read.message)).map(({ body }) => body),
        );
        assert.deepEqual(letters.filter((body) => !mayFail.has(body)).toSorted(), refused.toSorted());
        for (const { read } of parsed) {
          if (!read.ok || !isFor(queue, read.message) || read.delaySeconds !== undefined) continue;
          const { id, data, expiresAt } = read.message;
          if (expiresAt !== undefined) continue;
          const arrived = await eventually(`the request of ${id}`, () =>
            Promise.resolve(aws.receiver.received(path).find(({ headers }) => headers['webhook-id'] === id)),
          );
          // Messages with one id are one message.
          const same = parsed.flatMap(({ read: other }) =>
            other.ok && 'data' in other.message && other.message.id === id ? [other.message.data] : [],
          );
          assert(same.includes(arrived.body.toString()), `${id} arrived with another body than ${data}`);
        }
        await aws.checkFunctions(since, SECRET);
      });
    },
  }),
};

const isFor = (queue: string, message: Message | MessageHead): message is Message =>
  'data' in message && message.queue === queue;

const sampled = (
  input: fc.Arbitrary<string>,
  { seed, runs }: { seed: number; runs: number },
): readonly string[] => fc.sample(input, { seed, numRuns: Math.ceil(runs) }).filter(isSendable);

/** It waits until it is due. */
const isEarly = (body: string): boolean => {
  const read = parseWork(body);
  return read.ok && (read.value.dueAt ?? 0) > Date.now();
};

/** Messages to the queues between the functions: what the function cannot read is a dead letter, and all else is done. */
const workQueues: DeployedTarget = {
  name: 'deployed work queues',
  on: (aws) => ({
    name: workQueues.name,
    weight: 0.2,
    run: async ({ seed, runs }) => {
      const since = Date.now();
      aws.receiver.forget();
      const { endpoints } = aws.system;
      const { deliveryQueueUrl, retryQueueUrl, operationQueueUrl } = endpoints;
      const queueUrls = [deliveryQueueUrl, retryQueueUrl, operationQueueUrl];
      const before = await aws.countsOf(queueUrls);
      const work = sampled(nearlyJson(jobs), { seed, runs: runs / 2 }).filter((body) => !isEarly(body));
      const ordered = sampled(nearlyJson(operations), { seed, runs: runs / 4 });
      const half = Math.floor(work.length / 2);
      await sendTo(aws, deliveryQueueUrl, work.slice(0, half));
      await sendTo(aws, retryQueueUrl, work.slice(half));
      await sendTo(aws, operationQueueUrl, ordered);
      const refused = {
        work: work.filter((body) => !parseWork(body).ok),
        ordered: ordered.filter((body) => !parseOperation(body).ok),
      };
      const count = refused.work.length + refused.ordered.length;
      const outcome = { accepted: work.length + ordered.length - count, refused: count };
      return withCheck({ ...outcome, failed: false, input: [...work, ...ordered], error: null }, async () => {
        await aws.drained(queueUrls, before).catch(async (error: unknown) => {
          // A fault keeps its message there.
          await aws.checkFunctions(since, SECRET);
          throw error;
        });
        const dead = await taken(aws, endpoints.deliveryDeadLetterUrl);
        assert.deepEqual(dead.toSorted(), refused.work.toSorted());
        const deadOperations = await taken(aws, endpoints.operationDeadLetterUrl);
        assert.deepEqual(deadOperations.toSorted(), refused.ordered.toSorted());
        await aws.checkFunctions(since, SECRET);
      });
    },
  }),
};

export const deployedTargets: readonly DeployedTarget[] = [routes, ingress, workQueues];
