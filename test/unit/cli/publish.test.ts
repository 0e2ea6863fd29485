import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { StubRequest } from '../../support/aws-stub.ts';
import { jsonLines } from './run-command.ts';
import { json, refusal, stubApi, type StubApi } from './stub-api.ts';

const MESSAGES = 'POST /v2/queues/orders/messages';
const posted = z.object({ messages: z.array(z.looseObject({ id: z.string(), body: z.unknown() })) });
const messagesIn = ({ body }: StubRequest) => posted.parse(JSON.parse(body)).messages;

/** An API that accepts every message. */
const taking = (): Promise<StubApi> =>
  stubApi({ [MESSAGES]: (request) => json({ ids: messagesIn(request).map(({ id }) => id) }, 201) });

const postsTo = ({ requests }: StubApi): StubRequest[] => requests.filter(({ method }) => method === 'POST');

/** Spaces, escapes, a line separator, key order, and numbers that no double holds. */
const DATA = '{ "b":1.0,"a" : 12345678901234567890.10,"e":1E400, "t":"\\u00e9\u2028ü", "b": 2 }';

describe('posthaste publish', () => {
  it('publishes one message with its data byte for byte', async () => {
    const api = await taking();
    const args = [
      'publish',
      'orders',
      '--data',
      DATA,
      '--type',
      'order.created',
      '--id',
      'o-1',
      '--ttl',
      '60',
    ];
    expect(await api.run([...args, '--json'])).toEqual({ status: 0, stdout: '{"id":"o-1"}\n', stderr: '' });
    expect(postsTo(api)[0]?.body).toBe(
      `{"messages":[{"id":"o-1","type":"order.created","ttl":60,"body":${DATA}}]}`,
    );
  });

  it('says when a message was accepted before, and leaves the decision to the API', async () => {
    const accepted = {
      queue: 'orders',
      id: 'o-1',
      acceptedAt: '2026-01-01T00:00:00.000Z',
      duplicates: 0,
      matched: 1,
      filtered: 0,
      bodyKept: false,
      deliveries: { pending: 0, retrying: 0, delivered: 1, rejected: 0, exhausted: 0, cancelled: 0 },
    };
    const api = await stubApi({
      'GET /v2/queues/orders/messages/o-1': () => json(accepted),
      [MESSAGES]: () => json({ ids: ['o-1'] }, 201),
    });
    const args = ['publish', 'orders', '--data', '1', '--id', 'o-1'];
    expect((await api.run(args)).stdout).toMatch(
      /^o-1 was accepted at 20\d\d-\d\d-\d\d [\d:]{8} already: this copy makes no request\.\n$/,
    );
    const { stdout } = await api.run([...args, '--json']);
    expect(jsonLines(stdout)).toEqual([{ id: 'o-1', acceptedAt: accepted.acceptedAt }]);
    expect(postsTo(api)).toHaveLength(2);
  });

  it('creates a missing queue with --create', async () => {
    const api = await stubApi({
      'GET /v2/queues/orders': () => refusal(404, 'not_found', 'there is no such queue'),
      [MESSAGES]: () => json({ ids: ['o-1'] }, 201),
    });
    const args = ['publish', 'orders', '--data', '1', '--id', 'o-1', '--create'];
    expect(await api.run(args)).toEqual({
      status: 0,
      stdout: 'Published message o-1 to orders.\n',
      stderr: `→ ${api.url}\n`,
    });
  });

  it('works for a caller who may only publish', async () => {
    const forbidden = () => json({ message: 'Forbidden' }, 403);
    const api = await stubApi({
      'GET /v2/queues/orders': forbidden,
      'GET /v2/queues/orders/messages/o-1': forbidden,
      [MESSAGES]: () => json({ ids: ['o-1'] }, 201),
    });
    expect((await api.run(['publish', 'orders', '--data', '1', '--id', 'o-1'])).status).toBe(0);
  });

  it('publishes lines from stdin byte for byte, with any line ending, and skips empty ones', async () => {
    const api = await taking();
    const lines = [
      `{"data":${DATA},"id":"a","delay":5}`,
      '',
      `{ "id" : "b", "data" : ${DATA} , "type":"own"}\r`,
      '{"data":null}',
    ];
    const run = await api.run(['publish', 'orders', '--type', 'given', '--json'], {
      input: lines.join('\n'),
    });
    expect(run.status).toBe(0);
    const { body = '' } = postsTo(api)[0] ?? {};
    expect(body).toContain(
      `{"messages":[{"id":"a","type":"given","delay":5,"body":${DATA}},{"id":"b","type":"own","body":${DATA}},{"id":"`,
    );
    expect(jsonLines(run.stdout)).toEqual([
      { line: 1, id: 'a' },
      { line: 3, id: 'b' },
      { line: 4, id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown },
    ]);
  });

  it('takes lines that are only data with --bare', async () => {
    const api = await taking();
    await api.run(['publish', 'orders', '--bare', '--file', '-'], { input: ` ${DATA}\t\n7` });
    expect(postsTo(api)[0]?.body).toMatch(/"body":7}]}$/);
    expect(postsTo(api)[0]?.body).toContain(`"body":${DATA}}`);
  });

  it('sends up to a hundred messages per request, each once', async () => {
    const api = await taking();
    const input = Array.from({ length: 1_050 }, (_, n) => `{"id":"m${n}","data":${n}}`).join('\n');
    const { status, stdout } = await api.run(['publish', 'orders'], { input });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'Queue orders: 1050 published, 0 refused.\n' });
    const ids = postsTo(api)
      .flatMap(messagesIn)
      .map(({ id }) => id);
    expect(new Set(ids).size).toBe(1_050);
    expect(ids).toHaveLength(1_050);
    expect(Math.max(...postsTo(api).map((request) => messagesIn(request).length))).toBe(100);
  });

  it('sends at most 1 MiB per request', async () => {
    const api = await taking();
    const input = Array.from({ length: 5 }, () => `{"data":"${'x'.repeat(400_000)}"}`).join('\n');
    expect((await api.run(['publish', 'orders'], { input })).status).toBe(0);
    expect(
      postsTo(api)
        .map((request) => messagesIn(request).length)
        .toSorted(),
    ).toEqual([1, 2, 2]);
  });

  it('repeats a batch whose response was lost, with the same ids', async () => {
    const api = await stubApi({
      [MESSAGES]: (request, index) =>
        index === 0 ? 'hang_up' : json({ ids: messagesIn(request).map(({ id }) => id) }, 201),
    });
    expect((await api.run(['publish', 'orders', '--data', '1'])).status).toBe(0);
    expect(postsTo(api)).toHaveLength(2);
    expect(postsTo(api)[1]?.body).toBe(postsTo(api)[0]?.body);
  });

  it('publishes the remaining lines if some are refused by the command or the API, and shows the reasons', async () => {
    const api = await stubApi({
      [MESSAGES]: (request) => {
        const messages = messagesIn(request);
        const index = messages.findIndex(({ ttl }) => ttl === 0);
        const fields = [{ field: `messages[${index}].ttl`, message: 'must be 1 or more' }];
        return index === -1
          ? json({ ids: messages.map(({ id }) => id) }, 201)
          : refusal(400, 'invalid_request', 'wrong', fields);
      },
    });
    const lines = [
      '{"id":"a","data":1}',
      'not JSON \u001b[31m',
      '{"id":"c"}',
      '{"id":"d","data":4,"ttl":0}',
      '{"id":"e","data":5,"priority":1}',
      '{"id":"f","data":6}',
    ];
    const run = await api.run(['publish', 'orders', '--json'], { input: lines.join('\n') });
    expect(run.status).toBe(1);
    expect(jsonLines(run.stdout)).toEqual([
      { line: 2, error: { message: 'not valid JSON in UTF-8' } },
      { line: 3, error: { message: 'field "data" is missing; if each line is the data itself, add --bare' } },
      { line: 5, error: { message: 'unknown field "priority"' } },
      { line: 1, id: 'a' },
      { line: 6, id: 'f' },
      { line: 4, error: { message: 'ttl must be 1 or more' } },
    ]);
  });

  it('stops if the API denies access, and shows which lines were not published', async () => {
    const api = await stubApi({ [MESSAGES]: () => json({ message: 'Forbidden' }, 403) });
    const { status, stdout, stderr } = await api.run(['publish', 'orders'], {
      input: '{"data":1}\n{"data":2}\n',
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: 'Queue orders: 0 published, 0 refused.\n' });
    expect(stderr).toContain('execute-api:Invoke');
    expect(stderr).toContain('Not published: lines 1-2, and all lines after line 2.\n');
  });

  it('completes the requests in flight on Ctrl-C, and exits with status 130', async () => {
    let interrupt = (): void => undefined;
    const api = await stubApi({
      [MESSAGES]: (request) => {
        interrupt();
        return json({ ids: messagesIn(request).map(({ id }) => id) }, 201);
      },
    });
    const input = Array.from({ length: 100 }, (_, n) => `{"id":"m${n}","data":${n}}`).join('\n');
    const run = await api.run(['publish', 'orders'], {
      onStart: (command) => {
        ({ interrupt } = command);
        // stdin stays open: more input could follow.
        command.stdin.write(input);
      },
    });
    expect(run.status).toBe(130);
    expect(run.stderr).toMatch(/^Not published: all lines after line \d+\.$/m);
  });

  it('reports in one sentence that a file cannot be read', async () => {
    const { status, stderr } = await (await taking()).run(['publish', 'orders', '--file', '/nowhere/at/all']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/\nposthaste: \/nowhere\/at\/all cannot be read: ENOENT.*\n$/);
  });
});
