import { setImmediate } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import {
  forwardDeliveries,
  type Forwarded,
  type ForwardOptions,
  type ReceivedDelivery,
  postToTarget,
  type TargetResult,
} from '../../../cli/commands/forward/forward-deliveries.ts';
import { plainEnvironment } from '../../../local/local-aws.ts';
import { startReceiver, type ReceivedRequest, type Receiver } from '../../support/receiver.ts';
import { PATH, pullWorld, type PullWorld } from '../api/pull-world.ts';
import { ID } from './delivery-views.ts';
import { ctrlC, posthaste, type Run } from './run-command.ts';
import { json, runOn, type StubRoutes } from './stub-api.ts';

describe('posthaste forward', () => {
  const BY_TOKEN = '/v2/pull/orders/subscription-1';
  let world: PullWorld;
  let api: Receiver;
  let target: Receiver;
  let token: string;

  beforeEach(async () => {
    world = await pullWorld();
    api = await startReceiver();
    target = await startReceiver();
    onTestFinished(async () => {
      await Promise.all([api.close(), target.close()]);
    });
    const made = await world.call('POST', `${PATH}/pull-token`, {});
    ({ token } = z.object({ token: z.string() }).parse(made.body));
  });

  /** Runs `posthaste forward` until this receive, from 1. `onReceive`: called before the API gets one. */
  const forward = (
    options = '',
    env: NodeJS.ProcessEnv = {},
    { lastReceive = 2, onReceive = (_receive: number): unknown => undefined } = {},
  ): Promise<Run> => {
    const { press, options: interruptible } = ctrlC();
    let receives = 0;
    const answering = async (step: string, { headers, body }: ReceivedRequest) => {
      if (step === 'receive') {
        if (++receives === lastReceive) press();
        await onReceive(receives);
      }
      const { authorization = '' } = headers;
      const answer = await world.call('POST', `${BY_TOKEN}/${step}`, body.toString(), { authorization });
      return {
        status: answer.status,
        headers: { 'content-type': 'application/json' },
        ...(answer.body !== undefined && { body: JSON.stringify(answer.body) }),
      };
    };
    for (const step of ['receive', 'ack', 'nack'])
      api.script(`${BY_TOKEN}/${step}`, (request) => answering(step, request));
    const line = `forward orders subscription-1 --to ${target.url('/hook')} --url ${api.url('')}${options}`;
    return posthaste(line, {
      env: { ...plainEnvironment(), POSTHASTE_PULL_TOKEN: token, ...env },
      onStart: (command) => {
        interruptible.onStart(command);
        command.stdin.end(token);
      },
    });
  };

  /** The record of a published delivery. */
  const recorded = async (id = 'message-1'): Promise<unknown> =>
    (await world.call('GET', `/v2/queues/orders/messages/${id}/deliveries/subscription-1`)).body;

  it('posts the signed headers and the bytes of the body, and acknowledges a 2xx', async () => {
    target.script('/hook', [{ status: 201 }]);
    await world.publish({ data: '{"text": "é", "total": 1.0}' });
    const { status, lines, stderr } = await forward(' --json');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [request] = target.received('/hook');
    const secret = new Webhook(Buffer.alloc(32, 7).toString('base64'));
    const signedAt = new Date(Number(request?.headers['webhook-timestamp']) * 1000);
    const signature = secret.sign('message-1', signedAt, request?.body.toString() ?? '');
    expect(request?.body.toString()).toContain('{"text": "é", "total": 1.0}');
    expect(request).toMatchObject({
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        'webhook-id': 'message-1',
        'webhook-signature': signature,
      },
    });
    expect(lines).toMatchObject([
      { messageId: 'message-1', attempt: 1, status: 201, outcome: 'acked', interval: 1 },
    ]);
    expect(await recorded()).toMatchObject({ status: 'delivered' });
  });

  it.each([400, 503, 302])('records a failed attempt with the reason after a %i', async (code) => {
    target.script('/hook', [{ status: code, headers: { location: target.url('/elsewhere') } }]);
    await world.publish();
    const { lines } = await forward(' --json');
    expect(lines).toMatchObject([{ status: code, outcome: 'nacked' }]);
    expect(target.received('/elsewhere')).toEqual([]);
    expect(await recorded()).toMatchObject({
      status: 'retrying',
      attempts: [{ outcome: 'failed', error: `nacked: status ${code}` }],
    });
  });

  it('records why a target that is down did not answer, and pauses longer and longer', async () => {
    await target.close();
    for (const id of ['m-1', 'm-2', 'm-3', 'm-4']) await world.publish({ id });
    const { status, stdout, stderr } = await forward(' --concurrency 1 --verbose', {}, { lastReceive: 4 });
    expect(status).toBe(0);
    const [head, ...rows] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^Time +Message +Attempt +Duration +Interval +Status$/);
    const row = (interval: number): unknown =>
      expect.stringMatching(
        new RegExp(String.raw`^\S+ \S+ +m-\d +1 +\d+ ms +${interval} s {2}connect ECONNREFUSED 127\.0\.0\.1`),
      );
    expect(rows).toEqual([row(1), row(1), row(2), row(4)]);
    expect(stderr).toContain('failed: slept 1 s, next 2 s\nfailed: slept 2 s, next 4 s\n');
    expect(JSON.stringify(await recorded('m-1'))).toContain('nacked: connect ECONNREFUSED 127.0.0.1');
  });

  it('pauses by the options of the poller while nothing waits', async () => {
    const poller = ' --verbose --floor 0.25 --ceiling 0.9 --exponent 3';
    const { stderr } = await forward(poller, {}, { lastReceive: 5 });
    expect(stderr.match(/slept .*/g)).toEqual([
      'slept 0.25 s, next 0.75 s',
      'slept 0.75 s, next 0.9 s',
      'slept 0.9 s, next 0.9 s',
      'slept 0.9 s, next 0.9 s',
    ]);
  });

  it.each([
    ['a file', ' --token-file -', { POSTHASTE_PULL_TOKEN: '' }],
    ['the environment', '', {}],
  ])('takes the token from %s, and never prints it', async (_, option, env) => {
    await world.publish();
    const { stdout, stderr } = await forward(`${option} --verbose`, env);
    expect(target.received('/hook')).toHaveLength(1);
    expect(stdout + stderr).not.toContain(token);
  });

  it.each([
    ['disabled', 'disable', 'enable'],
    ['paused', 'pause', 'resume'],
  ])('waits while the subscription is %s, says so once, and continues', async (state, stop, start) => {
    await world.publish();
    await world.call('POST', `${PATH}/${stop}`);
    const onReceive = (receive: number) => receive === 3 && world.call('POST', `${PATH}/${start}`);
    const { status, stderr } = await forward(' --verbose', {}, { lastReceive: 4, onReceive });
    expect(status).toBe(0);
    expect(stderr.match(/subscription is \w+|slept .*|Receiving again/g)).toEqual([
      `subscription is ${state}`,
      'slept 1 s, next 2 s',
      'slept 2 s, next 4 s',
      'Receiving again',
    ]);
    expect(await recorded()).toMatchObject({ status: 'delivered' });
  });

  it('ends with 1 and a sentence when the token is refused', async () => {
    const POSTHASTE_PULL_TOKEN = `phpull_${'x'.repeat(43)}`;
    expect(await forward(' --json', { POSTHASTE_PULL_TOKEN })).toEqual({
      status: 1,
      stdout: '',
      stderr:
        '{"error":{"message":"The token was refused. It must be a valid one of the subscription subscription-1 on queue orders, given by its whole id."}}\n',
    });
  });

  it.each([
    ['phpull_short', '', 'The token has the wrong form. Expected phpull_ and 43 characters.'],
    [
      undefined,
      'http://api.example',
      'The token would be readable on its way to http://api.example. Give an https URL.',
    ],
  ])('does not send the token %s to %j', async (given, url, sentence) => {
    const env = given === undefined ? {} : { POSTHASTE_PULL_TOKEN: given };
    const run = await forward(url && ` --url ${url}`, env);
    expect(run).toEqual({ status: 1, stdout: '', stderr: `posthaste: ${sentence}\n` });
    expect(api.received()).toEqual([]);
  });

  it('signs as an operator of the chosen deployment, whose outage it reports once and survives', async () => {
    const { press, options } = ctrlC();
    const unavailable = json({ message: 'Service Unavailable' }, 503);
    const receive: StubRoutes[string] = (_, index) => {
      if (index === 3) press();
      return index < 2 ? unavailable : json({ deliveries: [] });
    };
    const { status, stderr, requests } = await runOn(
      { [`POST /v2/queues/orders/subscriptions/${ID}/receive`]: receive },
      `forward orders ${ID} --to ${target.url('/hook')} --deployment Posthaste`,
      { env: { POSTHASTE_PULL_TOKEN: token }, ...options },
    );
    expect(status).toBe(0);
    expect(stderr.split('\n').slice(2)).toEqual([
      expect.stringContaining('(503 from API Gateway): Service Unavailable'),
      'Receiving again.',
      '',
    ]);
    for (const { headers, body } of requests) {
      expect(headers.authorization).toMatch(/^AWS4-HMAC-SHA256 /);
      expect(body).toBe('{"max":10,"lease_seconds":60}');
    }
  });
});

const aDelivery = (id: string): ReceivedDelivery => ({
  receipt: `receipt-${id}`,
  messageId: id,
  attempt: 1,
  headers: {},
  body: '',
});

const OK: TargetResult = { status: 200, durationMs: 1 };
const DOWN: TargetResult = { error: 'connect ECONNREFUSED', durationMs: 1 };
const outage = new ApiRefusal('POST /receive', 503, '{"message": "Service Unavailable"}');

/** A forwarder whose pauses take no time. It ends when everything waiting was received, and once more nothing. */
const forwarder = (ids: readonly string[]) => {
  const waiting = ids.map(aDelivery);
  const ending = new AbortController();
  const asked: number[] = [];
  const slept: number[] = [];
  const answers: string[] = [];
  const forwarded: Forwarded[] = [];
  const receive: ForwardOptions['pull']['receive'] = ({ max }) => {
    asked.push(max);
    if (waiting.length === 0) ending.abort();
    return Promise.resolve(waiting.splice(0, max));
  };
  const answer = (text: string): Promise<void> => {
    answers.push(text);
    return Promise.resolve();
  };
  const options: ForwardOptions = {
    pull: {
      receive,
      ack: (receipt) => answer(`ack ${receipt}`),
      nack: (receipt, error) => answer(`nack ${receipt} ${error}`),
    },
    post: () => Promise.resolve(OK),
    limits: { concurrency: 2, leaseSeconds: 60, interval: {} },
    signal: ending.signal,
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      slept.push(milliseconds / 1000);
      return Promise.resolve();
    },
    onForwarded: (one) => forwarded.push(one),
    onReceived: () => undefined,
  };
  return { options, receive, ending, asked, slept, answers, forwarded };
};

describe('the forwarder', () => {
  it('receives only what it can post at once', async () => {
    const held = Promise.withResolvers<TargetResult>();
    const { options, asked, answers } = forwarder(['a', 'b', 'c', 'd']);
    options.post = ({ messageId }) => {
      if (messageId === 'd') held.resolve(OK);
      return messageId === 'a' ? held.promise : setImmediate(OK);
    };
    await forwardDeliveries(options);
    expect(asked.slice(0, 3)).toEqual([2, 1, 1]);
    expect(answers).toHaveLength(4);
  });

  it('tries one delivery after each pause while the target is down, and resets the pause afterwards', async () => {
    const results = [DOWN, DOWN, DOWN, DOWN, OK, OK, OK];
    const { options, asked, slept, forwarded } = forwarder(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
    let askedBefore = 0;
    options.post = async ({ messageId }) => {
      if (messageId === 'b') askedBefore = await setImmediate().then(() => asked.length);
      return results.shift() ?? OK;
    };
    await forwardDeliveries(options);
    expect(askedBefore).toBe(1);
    // Two at first, then one by one until the fifth is answered.
    expect(asked.slice(0, 4)).toEqual([2, 1, 1, 1]);
    expect(slept).toEqual([1, 2]);
    expect(forwarded.map(({ interval }) => interval)).toEqual([1, 1, 1, 2, 4, 1, 1]);
  });

  it.each([
    ['repeats an acknowledgement that an outage kept from the API', 3, false, undefined],
    ['tries an acknowledgement once more when it is interrupted', 2, true, undefined],
    ['says why it is not recorded if that fails as well', Infinity, true, 'Service Unavailable'],
  ])('%s', async (_, success, isInterrupted, why) => {
    const { options, receive, ending, asked, forwarded } = forwarder(['a']);
    const goesOn = Promise.withResolvers<undefined>();
    options.pull.receive = async (limits) => {
      if (asked.length === 1) await goesOn.promise;
      return receive(limits);
    };
    if (isInterrupted)
      options.sleep = () => {
        ending.abort();
        goesOn.resolve(undefined);
        return Promise.reject(new DOMException('aborted', 'AbortError'));
      };
    let tries = 0;
    options.pull.ack = () => {
      if (++tries < success) return Promise.reject(outage);
      goesOn.resolve(undefined);
      return Promise.resolve();
    };
    await forwardDeliveries(options);
    expect(tries).toBe(isInterrupted ? 2 : 3);
    expect(forwarded.map(({ notRecorded }) => notRecorded)).toEqual([why]);
  });

  it('says that an acknowledgement came too late, and goes on', async () => {
    const expired = '{"error": {"code": "conflict", "message": "has expired"}}';
    const { options, forwarded } = forwarder(['a', 'b', 'c']);
    options.pull.ack = () => Promise.reject(new ApiRefusal('POST /ack', 409, expired));
    await forwardDeliveries(options);
    expect(forwarded).toMatchObject(Array.from({ length: 3 }, () => ({ notRecorded: 'has expired' })));
  });

  it('finishes what it received when it is interrupted, and receives nothing more', async () => {
    const { options, ending, asked, answers } = forwarder(['a', 'b', 'c']);
    options.post = () => {
      ending.abort();
      return setImmediate(OK);
    };
    await forwardDeliveries(options);
    expect(asked).toEqual([2]);
    expect(answers).toEqual(['ack receipt-a', 'ack receipt-b']);
  });

  it('forwards what a receive leases that is under way when it is interrupted', async () => {
    const { options, receive, ending, answers } = forwarder(['a']);
    options.pull.receive = (limits) => {
      ending.abort();
      return receive(limits);
    };
    await forwardDeliveries(options);
    expect(answers).toEqual(['ack receipt-a']);
  });

  it('ends with the refusal of a receive, after what runs', async () => {
    const { options, receive, answers } = forwarder(['a']);
    options.post = () => setImmediate(OK);
    const refused = new ApiRefusal('POST /receive', 404, '{}');
    let receives = 0;
    options.pull.receive = (limits) => (++receives === 1 ? receive(limits) : Promise.reject(refused));
    await expect(forwardDeliveries(options)).rejects.toBe(refused);
    expect(answers).toEqual(['ack receipt-a']);
  });
});

it('a request to the target fails at its deadline, and takes the status of an answer that does not end', async () => {
  const target = await startReceiver();
  onTestFinished(target.close);
  target.script('/slow', [{ delayMs: 500 }]);
  const unfinished = 'HTTP/1.1 202 Accepted\r\ncontent-length: 9\r\n\r\nx';
  target.script('/endless', [{ raw: unfinished, behaviour: 'hang' }]);
  const post = (path: string) => postToTarget(target.url(path), aDelivery('a'), 0.1);
  expect(await Promise.all([post('/slow'), post('/endless')])).toMatchObject([
    { error: 'no answer within 0.1 s' },
    { status: 202 },
  ]);
});
