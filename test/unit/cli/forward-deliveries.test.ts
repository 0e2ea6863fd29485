import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import {
  forwardDeliveries,
  type Forwarded,
  type ForwardOptions,
} from '../../../cli/commands/forward/forward-deliveries.ts';
import type { ReceivedDelivery } from '../../../cli/commands/forward/pull-routes.ts';
import { postToTarget, type TargetResult } from '../../../cli/commands/forward/target.ts';
import { startReceiver } from '../../support/receiver.ts';

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
const forwarder = (ids: readonly string[], more: Partial<ForwardOptions> = {}) => {
  const waiting = ids.map(aDelivery);
  const ending = new AbortController();
  const asked: number[] = [];
  const slept: number[] = [];
  const answers: string[] = [];
  const forwarded: Forwarded[] = [];
  const options: ForwardOptions = {
    pull: {
      receive: ({ max }) => {
        asked.push(max);
        if (waiting.length === 0) ending.abort();
        return Promise.resolve(waiting.splice(0, max));
      },
      ack: (receipt) => {
        answers.push(`ack ${receipt}`);
        return Promise.resolve();
      },
      nack: (receipt, error) => {
        answers.push(`nack ${receipt} ${error}`);
        return Promise.resolve();
      },
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
    ...more,
  };
  return { options, ending, asked, slept, answers, forwarded };
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

  it('pauses longer and longer while the API does not respond, and loses nothing', async () => {
    const { options, slept, answers } = forwarder(['a']);
    const { receive } = options.pull;
    let failures = 3;
    options.pull.receive = (limits) => (failures-- > 0 ? Promise.reject(outage) : receive(limits));
    await forwardDeliveries(options);
    expect(slept).toEqual([1, 2, 4]);
    expect(answers).toEqual(['ack receipt-a']);
  });

  it('repeats an acknowledgement that an outage kept from the API', async () => {
    const acked = Promise.withResolvers<undefined>();
    const { options, asked, forwarded } = forwarder(['a']);
    const { receive } = options.pull;
    options.pull.receive = async (limits) => {
      if (asked.length === 1) await acked.promise;
      return receive(limits);
    };
    let tries = 0;
    options.pull.ack = () => {
      if (++tries < 3) return Promise.reject(outage);
      acked.resolve(undefined);
      return Promise.resolve();
    };
    await forwardDeliveries(options);
    expect(tries).toBe(3);
    expect(forwarded).toEqual([expect.not.objectContaining({ notRecorded: expect.anything() as unknown })]);
  });

  it.each([
    [2, undefined],
    [Infinity, 'Service Unavailable'],
  ])('tries an acknowledgement once more when it is interrupted: try %i succeeds', async (success, why) => {
    const { options, ending, asked, forwarded } = forwarder(['a']);
    const { receive } = options.pull;
    const interrupted = Promise.withResolvers<undefined>();
    options.pull.receive = async (limits) => {
      if (asked.length === 1) await interrupted.promise;
      return receive(limits);
    };
    options.sleep = () => {
      ending.abort();
      interrupted.resolve(undefined);
      return Promise.reject(new DOMException('aborted', 'AbortError'));
    };
    let tries = 0;
    options.pull.ack = () => (++tries === success ? Promise.resolve() : Promise.reject(outage));
    await forwardDeliveries(options);
    expect(tries).toBe(2);
    expect(forwarded.map(({ notRecorded }) => notRecorded)).toEqual([why]);
  });

  it('says that an acknowledgement came too late, and goes on', async () => {
    const late = new ApiRefusal(
      'POST /ack',
      409,
      '{"error": {"code": "conflict", "message": "has expired"}}',
    );
    const { options, forwarded } = forwarder(['a', 'b', 'c']);
    options.pull.ack = () => Promise.reject(late);
    await forwardDeliveries(options);
    expect(forwarded.map(({ notRecorded }) => notRecorded)).toEqual([
      'has expired',
      'has expired',
      'has expired',
    ]);
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
    const { options, ending, answers } = forwarder(['a']);
    const { receive } = options.pull;
    options.pull.receive = (limits) => {
      ending.abort();
      return receive(limits);
    };
    await forwardDeliveries(options);
    expect(answers).toEqual(['ack receipt-a']);
  });

  it('ends with the refusal of a receive, after what runs', async () => {
    const { options, answers } = forwarder(['a'], { post: () => setImmediate(OK) });
    const { receive } = options.pull;
    const refused = new ApiRefusal('POST /receive', 404, '{}');
    let receives = 0;
    options.pull.receive = (limits) => (++receives === 1 ? receive(limits) : Promise.reject(refused));
    await expect(forwardDeliveries(options)).rejects.toBe(refused);
    expect(answers).toEqual(['ack receipt-a']);
  });
});

describe('the request to the target', () => {
  it('fails at its deadline, and takes the status of an answer that does not end', async () => {
    const target = await startReceiver();
    target.script('/slow', [{ delayMs: 500 }]);
    target.script('/endless', [
      { raw: 'HTTP/1.1 202 Accepted\r\ncontent-length: 9\r\n\r\nx', behaviour: 'hang' },
    ]);
    const [slow, endless] = await Promise.all(
      ['/slow', '/endless'].map((path) => postToTarget(target.url(path), aDelivery('a'), 0.1)),
    );
    await target.close();
    expect(slow).toMatchObject({ error: 'no answer within 0.1 s' });
    expect(endless).toMatchObject({ status: 202 });
  });
});
