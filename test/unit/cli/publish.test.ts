import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { publishLines } from '../../../cli/commands/publish/publish-lines.ts';
import type { Terminal } from '../../../cli/terminal.ts';
import { COMMAND } from '../../../local/command-name.ts';
import type { StubRequest } from '../../support/aws-stub.ts';
import { AT, messageView } from './delivery-views.ts';
import { ctrlC, type Line, wordsOf } from './run-command.ts';
import { FORBIDDEN, json, NOT_FOUND, refusal, runOn, type StubRoutes } from './stub-api.ts';

const MESSAGES = 'POST /v2/queues/orders/messages';
const MESSAGE = 'GET /v2/queues/orders/messages/o-1';
const posted = z.object({ messages: z.array(z.looseObject({ id: z.string(), body: z.unknown() })) });
const messagesIn = ({ body }: StubRequest) => posted.parse(JSON.parse(body)).messages;
const accepted = (request: StubRequest) => json({ ids: messagesIn(request).map(({ id }) => id) }, 201);

/** Publishes to an API that accepts every message, unless it has other routes. */
const publish = async (line: Line, input: string | string[] = '', routes: StubRoutes = {}) => {
  const args = ['publish', 'orders', ...wordsOf(line)];
  const run = await runOn({ [MESSAGES]: accepted, ...routes }, args, { input: [input].flat().join('\n') });
  return Object.assign(run, { posts: run.requests.filter(({ method }) => method === 'POST') });
};

/** Spaces, escapes, a line separator, key order, and numbers that no double holds. */
const DATA = '{ "b":1.0,"a" : 12345678901234567890.10,"e":1E400, "t":"\\u00e9\u2028ü", "b": 2 }';

describe('posthaste publish', () => {
  it('publishes one message with its data byte for byte', async () => {
    const options = '--type order.created --id o-1 --ttl 60 --json'.split(' ');
    const { posts, ...run } = await publish(['--data', DATA, ...options]);
    expect(run).toMatchObject({ status: 0, stdout: '{"id":"o-1"}\n', stderr: '' });
    expect(posts[0]?.body).toBe(`{"messages":[{"id":"o-1","type":"order.created","ttl":60,"body":${DATA}}]}`);
  });

  it('says when a message was accepted before, and leaves the decision to the API', async () => {
    const before = { [MESSAGE]: json({ ...messageView, id: 'o-1' }) };
    const { stdout, posts } = await publish('--data 1 --id o-1', '', before);
    expect(stdout).toMatch(
      /^o-1 was accepted at 20\d\d-\d\d-\d\d [\d:]{8} already: this copy makes no request\.\n$/,
    );
    expect(posts).toHaveLength(1);
    const { lines } = await publish('--data 1 --id o-1 --json', '', before);
    expect(lines).toEqual([{ id: 'o-1', acceptedAt: AT }]);
  });

  it('does not count a message that a deleted queue of the name accepted', async () => {
    const before = { [MESSAGE]: json({ ...messageView, id: 'o-1', queueDeleted: true }) };
    const { stdout } = await publish('--data 1 --id o-1', '', before);
    expect(stdout).toBe('Published message o-1 to orders.\n');
    const { lines } = await publish('--data 1 --id o-1 --json', '', before);
    expect(lines).toEqual([{ id: 'o-1' }]);
  });

  it('creates a missing queue with --create', async () => {
    const noQueue = { 'GET /v2/queues/orders': NOT_FOUND };
    const { url, ...run } = await publish('--data 1 --id o-1 --create', '', noQueue);
    expect(run).toMatchObject({
      status: 0,
      stdout: 'Published message o-1 to orders.\n',
      stderr: `→ ${url}\n`,
    });
  });

  describe('to a queue without a subscription', () => {
    const unsubscribed = (request: StubRequest) =>
      json({ ids: messagesIn(request).map(({ id }) => id), noSubscription: true }, 201);
    const to = { [MESSAGES]: unsubscribed };

    it('says that a message matches nothing, and how to send it later', async () => {
      const { status, stdout } = await publish('--data 1 --id o-1', '', to);
      expect(status).toBe(0);
      expect(stdout).toContain('Published message o-1 to orders.\nQueue orders has no active subscription');
      expect(stdout).toContain(`${COMMAND} send orders o-1 --to SUBSCRIPTION\n`);
      const { lines } = await publish('--data 1 --id o-1 --json', '', to);
      expect(lines).toEqual([{ id: 'o-1', noSubscription: true }]);
    });

    it('says so once for many messages', async () => {
      const { status, stdout } = await publish([], '{"id":"a","data":1}\n{"id":"b","data":2}', to);
      expect(status).toBe(0);
      expect(stdout).toMatch(/^Queue orders: 2 published, 0 refused\.\nQueue orders has no active [^\n]*\n$/);
      const { lines } = await publish('--json', '{"id":"a","data":1}', to);
      expect(lines).toEqual([{ line: 1, id: 'a', noSubscription: true }]);
    });
  });

  it('works for a caller who may only publish', async () => {
    const routes = { 'GET /v2/queues/orders': FORBIDDEN, [MESSAGE]: FORBIDDEN };
    expect((await publish('--data 1 --id o-1', '', routes)).status).toBe(0);
  });

  it('publishes lines from stdin byte for byte, with any line ending, and skips empty ones', async () => {
    const { status, lines, posts } = await publish('--type given --json', [
      `{"data":${DATA},"id":"a","delay":5}`,
      '',
      `{ "id" : "b", "data" : ${DATA} , "type":"own"}\r`,
      '{"data":null}',
    ]);
    expect(status).toBe(0);
    expect(posts[0]?.body).toContain(
      `{"messages":[{"id":"a","type":"given","delay":5,"body":${DATA}},{"id":"b","type":"own","body":${DATA}},{"id":"`,
    );
    expect(lines).toEqual([
      { line: 1, id: 'a' },
      { line: 3, id: 'b' },
      { line: 4, id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown },
    ]);
  });

  it('takes lines that are only data with --bare', async () => {
    const { posts } = await publish('--bare --file -', ` ${DATA}\t\n7`);
    expect(posts[0]?.body).toMatch(/"body":7}]}$/);
    expect(posts[0]?.body).toContain(`"body":${DATA}}`);
  });

  it('sends up to a hundred messages per request, each once', async () => {
    const input = Array.from({ length: 1_050 }, (_, n) => `{"id":"m${n}","data":${n}}`);
    const { status, stdout, posts } = await publish([], input);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'Queue orders: 1050 published, 0 refused.\n' });
    const ids = posts.flatMap(messagesIn).map(({ id }) => id);
    expect(ids).toHaveLength(1_050);
    expect(new Set(ids).size).toBe(1_050);
    expect(Math.max(...posts.map((request) => messagesIn(request).length))).toBe(100);
  });

  it('sends at most 1 MiB per request', async () => {
    const input = Array.from({ length: 5 }, () => `{"data":"${'x'.repeat(400_000)}"}`);
    const { status, posts } = await publish([], input);
    const counts = posts.map((request) => messagesIn(request).length).toSorted();
    expect({ status, counts }).toEqual({ status: 0, counts: [1, 2, 2] });
  });

  it('repeats a batch whose response was lost, with the same ids', async () => {
    const routes: StubRoutes = {
      [MESSAGES]: (request, index) => (index === 0 ? 'hang_up' : accepted(request)),
    };
    const { status, posts } = await publish('--data 1', '', routes);
    expect({ status, posts: posts.length }).toEqual({ status: 0, posts: 2 });
    expect(posts[1]?.body).toBe(posts[0]?.body);
  });

  it('publishes the remaining lines if some are refused by the command or the API, and shows the reasons', async () => {
    const refusing = (request: StubRequest) => {
      const index = messagesIn(request).findIndex(({ ttl }) => ttl === 0);
      const fields = [{ field: `messages[${index}].ttl`, message: 'must be 1 or more' }];
      return index === -1 ? accepted(request) : refusal(400, 'invalid_request', 'wrong', fields);
    };
    const input = [
      '{"id":"a","data":1}',
      'not JSON \u001b[31m',
      '{"id":"c"}',
      '{"id":"d","data":4,"ttl":0}',
      '{"id":"e","data":5,"priority":1}',
      '{"id":"f","data":6}',
    ];
    const { status, lines } = await publish('--json', input, { [MESSAGES]: refusing });
    expect(status).toBe(1);
    expect(lines).toEqual([
      { line: 2, error: { message: 'not valid JSON in UTF-8' } },
      { line: 3, error: { message: 'field "data" is missing; if each line is the data itself, add --bare' } },
      { line: 5, error: { message: 'unknown field "priority"' } },
      { line: 1, id: 'a' },
      { line: 6, id: 'f' },
      { line: 4, error: { message: 'ttl must be 1 or more' } },
    ]);
  });

  it('stops if the API denies access, and shows which lines were not published', async () => {
    const input = '{"data":1}\n{"data":2}\n';
    const { status, stdout, stderr } = await publish([], input, { [MESSAGES]: FORBIDDEN });
    expect({ status, stdout }).toEqual({ status: 1, stdout: 'Queue orders: 0 published, 0 refused.\n' });
    expect(stderr).toContain('execute-api:Invoke');
    expect(stderr).toContain('Not published: lines 1-2, and all lines after line 2.\n');
  });

  it('completes the requests in flight on Ctrl-C, and exits with status 130', async () => {
    const { press, options } = ctrlC();
    const pressing = (request: StubRequest) => {
      press();
      return accepted(request);
    };
    const input = Array.from({ length: 100 }, (_, n) => `{"id":"m${n}","data":${n}}`).join('\n');
    const { status, stderr } = await runOn({ [MESSAGES]: pressing }, 'publish orders', {
      onStart: (command) => {
        options.onStart(command);
        // stdin stays open: more input could follow.
        command.stdin.write(input);
      },
    });
    expect(status).toBe(130);
    expect(stderr).toMatch(/^Not published: all lines after line \d+\.$/m);
  });

  it('names the lines that were read and not published when the input fails', async () => {
    const failing = async function* () {
      yield Buffer.from('{"data":1}\n{"data":2}\n');
      await Promise.reject(new Error('gone'));
    };
    const terminal = z.custom<Terminal>().parse({ stdin: Readable.from(failing()) });
    const [ignore, { signal }] = [() => undefined, new AbortController()];
    const reports = { onPublished: ignore, onRefused: ignore, onProgress: ignore };
    const from = { queue: 'orders', file: '-', bare: false, defaults: {}, signal };
    const end = await publishLines(z.custom<ApiClient>().parse({}), { ...from, ...reports }, terminal);
    expect(end).toMatchObject({ read: 2, unpublished: [1, 2], failure: expect.any(Error) as Error });
  });

  it('reports in one sentence that a file cannot be read', async () => {
    const { status, stderr } = await publish('--file /nowhere/at/all');
    expect(status).toBe(1);
    expect(stderr).toMatch(/\nposthaste: \/nowhere\/at\/all cannot be read: ENOENT.*\n$/);
  });
});
