import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import {
  answerScriptOf,
  type AnswerScript,
  verifierFor,
  startWebhookReceiver,
  type Webhook as Received,
  type WebhookReceiver,
} from '../../../cli/commands/listen/webhook-receiver.ts';
import { webhookBlock } from '../../../cli/commands/listen/listen.ts';
import { jsonLines } from './run-command.ts';
import { json, stubApi } from './stub-api.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"id":"m1","data":{"a": 1.0}}';

const signed = (secret: string, id = 'm1', at = new Date()) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': new Webhook(secret).sign(id, at, BODY),
});

describe('an answer script', () => {
  it('lists statuses in order, with counts, delays and Retry-After', () => {
    expect(answerScriptOf('500x2,503:delay=0.5:retry-after=30, hang,reset,200')).toEqual([
      { status: 500 },
      { status: 500 },
      { status: 503, delaySeconds: 0.5, retryAfterSeconds: 30 },
      { status: 'hang' },
      { status: 'reset' },
      { status: 200 },
    ]);
  });

  it.each(['', '200,', '700', '100', '200x0', '200:wait=1', '200x9999,200x9999', '200:delay'])(
    'cannot be %j',
    (text) => {
      expect(() => answerScriptOf(text)).toThrow('Expected');
    },
  );
});

describe('the verification of a webhook', () => {
  const body = Buffer.from(BODY);

  it('says why a signature is refused', () => {
    const verifier = verifierFor(SECRET);
    expect(verifier(body, signed(SECRET))).toEqual({ verified: true });
    expect(verifier(body, signed('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'))).toEqual({
      verified: false,
      why: 'No signature fits the body and a key',
    });
  });

  it.each(['secret', 'whsec_%', 'whpk_AAAA'])('refuses the key %s before the first webhook', (key) => {
    expect(() => verifierFor(key)).toThrow('The key has the wrong form. Expected whsec_ or whpk_');
  });
});

describe('the receiver', () => {
  let receiver: WebhookReceiver | undefined;
  afterEach(async () => {
    await receiver?.close();
  });

  const started = async (script: AnswerScript) => {
    const seen: Received[] = [];
    const options = { path: '/hook', script, verifier: () => undefined, onAnswered: () => undefined };
    receiver = await startWebhookReceiver({ ...options, onWebhook: (webhook) => seen.push(webhook) });
    const { url } = receiver;
    const post = (id: string, to = url): Promise<Response> =>
      fetch(to, { method: 'POST', body: BODY, headers: { 'webhook-id': id } });
    return { seen, url, post };
  };

  it('starts the script anew for each message, and reports the time since its previous request', async () => {
    const { seen, post } = await started(answerScriptOf('503:retry-after=7,200'));
    const answers = [await post('a'), await post('b'), await post('a'), await post('a')];
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 200, 200]);
    expect(answers.map(({ headers }) => headers.get('retry-after'))).toEqual(['7', '7', null, null]);
    expect(seen.map(({ messageId, count }) => `${messageId ?? ''}${count}`)).toEqual([
      'a1',
      'b1',
      'a2',
      'a3',
    ]);
    expect(seen[0]?.secondsSince).toBeUndefined();
    expect(seen[2]?.secondsSince).toBeGreaterThanOrEqual(0);
  });

  it('resets the connection or does not answer if the script says so', async () => {
    const { post } = await started(answerScriptOf('reset,hang'));
    await expect(post('a')).rejects.toThrow('fetch failed');
    const hanging = post('a');
    await receiver?.close();
    await expect(hanging).rejects.toThrow('fetch failed');
  });

  it('refuses other paths and bodies that are too large', async () => {
    const { seen, url, post } = await started(answerScriptOf('200'));
    expect((await post('a', `${url}/other`)).status).toBe(404);
    const large = fetch(url, { method: 'POST', body: 'x'.repeat(3 * 1024 * 1024) });
    await large.then(
      ({ status }) => {
        expect(status).toBe(413);
      },
      (error: unknown) => {
        expect(error).toBeInstanceOf(TypeError);
      },
    );
    expect(seen).toEqual([]);
  });

  it('escapes control characters of a request', async () => {
    const { seen, url } = await started(answerScriptOf('200'));
    await fetch(url, { method: 'POST', body: 'a\u001b[2J\nb\u202e', headers: { 'webhook-id': 'x' } });
    const [webhook] = seen;
    const block = webhook === undefined ? '' : webhookBlock(webhook);
    expect(block).toContain('a\\u001b[2J\\u000ab\\u202e');
    expect(block.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  });
});

describe('posthaste listen', () => {
  it('subscribes while it runs, verifies with the returned secret, and stops after --count', async () => {
    const api = await stubApi({
      'POST /v2/queues/orders/subscriptions': () => json({ subscription_id: 's1', secret: SECRET }, 201),
      'DELETE /v2/queues/orders/subscriptions/s1': () => ({ status: 204, body: '' }),
    });
    const deliver = async (url: string): Promise<void> => {
      await fetch(url, { method: 'POST', body: BODY, headers: signed(SECRET) });
      await fetch(url, { method: 'POST', body: BODY, headers: { 'webhook-id': 'm1' } });
    };
    const args = ['listen', '--subscribe', 'orders', '--path', '/hook', '--policy', '{"minimum_delay": 2}'];
    const run = await api.run([...args, '--answer', '503,200', '--count', '2', '--json'], {
      onStart: ({ stderr }) => {
        stderr.once('data', (data: Buffer) => {
          void deliver(/http:\S+hook/.exec(String(data))?.[0] ?? '');
        });
      },
    });
    expect(run.status).toBe(0);
    expect(jsonLines(run.stdout)).toMatchObject([
      { method: 'POST', path: '/hook', body: BODY, messageId: 'm1', count: 1, answer: 503, verified: true },
      {
        messageId: 'm1',
        count: 2,
        answer: 200,
        verified: false,
        why: 'A header webhook-id, webhook-timestamp or webhook-signature is missing',
      },
    ]);
    expect(api.requests[1]?.body).toMatch(
      /^\{"subscriber":"http:\/\/127\.0\.0\.1:\d+\/hook","options":\{"_retry_policy":\{"minimum_delay": 2\}\}\}$/,
    );
    expect(api.requests.at(-1)?.method).toBe('DELETE');
  });

  it.each<[string, string[], string]>([
    ['a file', ['--secret-file', '-'], ''],
    ['the environment', [], SECRET],
  ])(
    'verifies with a secret from %s, which other users of the machine cannot see',
    async (_name, args, secret) => {
      const { run } = await stubApi({});
      const { stdout } = await run(['listen', '--count', '1', '--json', ...args], {
        env: { POSTHASTE_WEBHOOK_SECRET: secret },
        onStart: ({ stdin, stderr }) => {
          stdin.end(`${SECRET}\n`);
          stderr.once('data', (data: Buffer) => {
            const url = /http:\S+(?=\.)/.exec(String(data))?.[0] ?? '';
            void fetch(url, { method: 'POST', body: BODY, headers: signed(SECRET) });
          });
        },
      });
      expect(jsonLines(stdout)).toMatchObject([{ verified: true }]);
    },
  );

  it('deletes its subscription on Ctrl-C, and exits with status 0', async () => {
    const api = await stubApi({
      'POST /v2/queues/orders/subscriptions': () => json({ subscription_id: 's1' }, 201),
      'DELETE /v2/queues/orders/subscriptions/s1': () => ({ status: 204, body: '' }),
    });
    const run = await api.run(['listen', '--subscribe', 'orders'], {
      onStart: ({ stderr, interrupt }) => {
        stderr.once('data', interrupt);
      },
    });
    expect(run.status).toBe(0);
    expect(api.requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'DELETE']);
  });

  it('runs without a deployment, and reports in one sentence that its port is in use', async () => {
    const other = await startWebhookReceiver({
      path: '/',
      script: answerScriptOf('200'),
      verifier: () => undefined,
      onWebhook: () => undefined,
      onAnswered: () => undefined,
    });
    const { run } = await stubApi({});
    const { port } = new URL(other.url);
    const { status, stderr } = await run(['listen', '--port', port]);
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `posthaste: Port ${port} is in use by another program. Choose another port with --port, or omit --port to use a free one.\n`,
    });
    expect((await run(['listen', '--for', '0.2'])).status).toBe(0);
    await other.close();
  });
});
