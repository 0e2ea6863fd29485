import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sqsClient } from '../../../../shared/adapters/sqs/client.ts';
import type { Invocation } from '../../../../shared/adapters/aws/client-options.ts';
import { inMemoryJournal } from '../../../support/in-memory/in-memory-journal.ts';
import type { AwsStub, StubAnswer } from '../../../support/aws-stub.ts';
import { turnsUntil } from '../../../support/eventually.ts';
import { serviceThat } from '../service.ts';

beforeEach(() => {
  // No waits between retries.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** No request is out of time, however long a busy machine takes for hundreds of connections. */
const timeStandsStill = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

/** The most attempts that an invocation may make concurrently. */
const MOST = 500;
const MAX_IDLE = 50;

const queueThat = async (
  answer: (index: number) => StubAnswer | Promise<StubAnswer>,
  invocation: Invocation = {},
) => {
  const stub = await serviceThat(async (_, index) => {
    const given = await answer(index);
    return typeof given === 'object' && given.status === undefined
      ? { body: '{"MessageId":"1"}', ...given }
      : given;
  });
  return { stub, send: sender(stub, invocation) };
};

const sender = ({ config: { endpoint, region, credentials } }: AwsStub, invocation: Invocation = {}) => {
  const sqs = sqsClient({ endpoint, region, credentials, ...invocation });
  return (MessageBody: string): Promise<unknown> =>
    sqs.sendMessage({ QueueUrl: 'https://sqs.test/queue', MessageBody });
};

describe('a connection to a service', () => {
  it('is reused by later calls, also after errors', async () => {
    const { stub, send } = await queueThat((index) => (index === 1 ? { status: 403 } : {}));
    await send('1');
    await expect(send('2')).rejects.toThrow();
    for (let count = 3; count <= 20; count += 1) await send(`${count}`);
    expect(stub.requests).toHaveLength(20);
    expect(stub.connections()).toBe(1);
  });

  it('that the service closed between two calls does not make the next call fail', async () => {
    const { stub, send } = await queueThat(() => ({}));
    for (const body of ['1', '2', '3']) {
      await send(body);
      stub.closeConnections();
    }
    expect(stub.requests).toHaveLength(3);
    expect(stub.connections()).toBe(3);
  });

  it('that the service closes during the next call makes that call be retried on a new one', async () => {
    const journal = inMemoryJournal();
    const { stub, send } = await queueThat((index) => (index === 1 ? 'hang_up' : {}), { journal });
    await send('1');
    await send('2');
    expect(stub.requests.map(({ body }) => body)).toMatchObject([
      expect.stringContaining('"1"'),
      expect.stringContaining('"2"'),
      expect.stringContaining('"2"'),
    ]);
    expect(stub.connections()).toBe(2);
    expect(journal.facts).toMatchObject([{ reason: 'TimeoutError', repeated: true }]);
  });

  it('is available for each call of a full batch while the service is slow', async () => {
    const journal = inMemoryJournal();
    timeStandsStill();
    const slow = Promise.withResolvers<StubAnswer>();
    const { stub, send } = await queueThat(() => slow.promise, { journal });
    const all = Promise.allSettled(Array.from({ length: MOST }, (_, index) => send(`${index}`)));
    await turnsUntil(() => stub.requests.length === MOST);
    // Longer than the connection timeout.
    await vi.advanceTimersByTimeAsync(1_500);
    slow.resolve({});
    const sent = await all;
    expect(sent.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(journal.facts).toEqual([]);
    expect(stub.requests).toHaveLength(MOST);
  });

  it(`is one of at most ${MOST}, of which ${MAX_IDLE} are kept when idle`, async () => {
    timeStandsStill();
    const { stub, send } = await queueThat(() => ({}));
    await Promise.all(Array.from({ length: MOST + 100 }, (_, index) => send(`${index}`)));
    expect(stub.requests).toHaveLength(MOST + 100);
    expect(stub.connections()).toBe(MOST);
    vi.useRealTimers();
    await expect.poll(() => stub.openConnections()).toBe(MAX_IDLE);
  });

  it('that is refused fails after three tries with an error that names the cause', async () => {
    const { stub } = await queueThat(() => ({}));
    await stub.close();
    const journal = inMemoryJournal();
    await expect(sender(stub, { journal })('1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(journal.facts).toHaveLength(3);
  });
});

describe('a call that waits for a connection', () => {
  it('is not made after its time is up', async () => {
    // Half of it is available to a request.
    const time = { left: 4_000 };
    const deadline = { remainingMs: () => time.left };
    const { stub, send } = await queueThat((index) => (index < MOST ? 'silence' : {}), { deadline });
    timeStandsStill();
    const unanswered = Promise.allSettled(Array.from({ length: MOST }, () => send('unanswered')));
    await turnsUntil(() => stub.requests.length === MOST);
    // Too little for a retry.
    time.left = 200;
    const late = expect(send('late')).rejects.toMatchObject({ name: 'TimeoutError' });
    await vi.advanceTimersByTimeAsync(200);
    await late;
    await vi.advanceTimersByTimeAsync(1_800);
    await unanswered;
    time.left = 4_000;
    await Promise.all(Array.from({ length: MOST }, () => send('next')));
    const asked = stub.requests.map(({ body }) => body);
    expect(asked.filter((body) => body.includes('next'))).toHaveLength(MOST);
    expect(asked.filter((body) => body.includes('late'))).toEqual([]);
  });
});

describe('a response', () => {
  it.each([1, 2, 7])('is read completely when it arrives in pieces of %i bytes', async (size) => {
    const { stub, send } = await queueThat(() => ({
      body: JSON.stringify({ MessageId: 'größer' }),
      pieces: size,
    }));
    expect(await send('1')).toMatchObject({ MessageId: 'größer' });
    expect(stub.requests).toHaveLength(1);
  });
});
