import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  parseAnswerScript,
  startWebhookReceiver,
  verifierFor,
  type Webhook as Received,
} from '../../../cli/commands/listen/webhook-receiver.ts';
import type { RunOptions } from './run-command.ts';
import { json, NO_CONTENT, runOn, type StubRoutes } from './stub-api.ts';
import { webhookBlock } from '../../../cli/commands/listen/listen.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"id":"m1","data":{"a": 1.0}}';

const signed = (secret: string, id = 'm1', at = new Date()) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': new Webhook(secret).sign(id, at, BODY),
});

describe('an answer script', () => {
  it('lists statuses in order, with counts, delays and Retry-After', () => {
    expect(parseAnswerScript('500x2,503:delay=0.5:retry-after=30, hang,reset,200')).toEqual([
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
      expect(() => parseAnswerScript(text)).toThrow('Expected');
    },
  );
});

describe('the verification of a webhook', () => {
  it('says why a signature is refused', () => {
    const verifier = verifierFor(SECRET);
    expect(verifier(Buffer.from(BODY), signed(SECRET))).toEqual({ verified: true });
    expect(verifier(Buffer.from(BODY), signed('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'))).toEqual({
      verified: false,
      why: 'No signature fits the body and a key',
    });
  });

  it.each(['secret', 'whsec_%', 'whsec_short', 'whpk_AAAA'])(
    'refuses the key %s before the first webhook',
    (key) => {
      expect(() => verifierFor(key)).toThrow('The key has the wrong form. Expected whsec_ or whpk_');
    },
  );
});

/** A receiver that answers by this script, and what it has seen. */
const receiving = async (script: string) => {
  const seen: Received[] = [];
  const { url, close } = await startWebhookReceiver({
    path: '/hook',
    script: parseAnswerScript(script),
    verifier: () => undefined,
    onWebhook: (webhook) => seen.push(webhook),
    onAnswered: () => undefined,
  });
  onTestFinished(close);
  const post = (id: string, to = url): Promise<Response> =>
    fetch(to, { method: 'POST', body: BODY, headers: { 'webhook-id': id } });
  return { seen, url, post, close };
};

describe('the receiver', () => {
  it('starts the script anew for each message, and reports the time since its previous request', async () => {
    const { seen, post } = await receiving('503:retry-after=7,200');
    const answers = [await post('a'), await post('b'), await post('a'), await post('a')];
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 200, 200]);
    expect(answers.map(({ headers }) => headers.get('retry-after'))).toEqual(['7', '7', null, null]);
    const counted = seen.map(({ messageId, count }) => `${messageId ?? ''}${count}`);
    expect(counted).toEqual(['a1', 'b1', 'a2', 'a3']);
    expect(seen[0]?.secondsSince).toBeUndefined();
    expect(seen[2]?.secondsSince).toBeGreaterThanOrEqual(0);
  });

  it('resets the connection or does not answer if the script says so', async () => {
    const { post, close } = await receiving('reset,hang');
    await expect(post('a')).rejects.toThrow('fetch failed');
    const hanging = post('a');
    await close();
    await expect(hanging).rejects.toThrow('fetch failed');
  });

  it('refuses other paths and bodies that are too large', async () => {
    const { seen, url, post } = await receiving('200');
    expect((await post('a', `${url}/other`)).status).toBe(404);
    const large = fetch(url, { method: 'POST', body: 'x'.repeat(3 * 1024 * 1024) });
    // If the receiver closes before the whole body is sent, the caller may see a connection error instead.
    const status = await large.then(
      (answer) => answer.status,
      () => 413,
    );
    expect(status).toBe(413);
    expect(seen).toEqual([]);
  });

  it('says that an invalid signature changes no answer', async () => {
    const { seen, post } = await receiving('200');
    await post('a');
    const verdict = { verified: false, why: 'no' } as const;
    const [block] = seen.map((webhook) => webhookBlock({ ...webhook, verdict }));
    expect(block).toContain('Signature: INVALID (no), answered as --answer says all the same\n');
  });

  it('escapes control characters of a request', async () => {
    const { seen, url } = await receiving('200');
    await fetch(url, { method: 'POST', body: 'a\u001b[2J\nb\u202e', headers: { 'webhook-id': 'x' } });
    const [webhook] = seen;
    const block = webhook === undefined ? '' : webhookBlock(webhook);
    expect(block).toContain('a\\u001b[2J\\u000ab\\u202e');
    expect(block.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  });
});

describe('posthaste listen', () => {
  const subscribing: StubRoutes = {
    'POST /v2/queues/orders/subscriptions': json({ subscription_id: 's1', secret: SECRET }, 201),
    'DELETE /v2/queues/orders/subscriptions/s1': NO_CONTENT,
  };

  const post = async (url: string, all: Record<string, string>[]): Promise<void> => {
    for (const headers of all) await fetch(url, { method: 'POST', body: BODY, headers });
  };

  /** Posts a webhook with each of these headers to the URL that the command prints. */
  const posting = (...all: Record<string, string>[]): RunOptions => ({
    onStart: ({ stdin, stderr }) => {
      stdin.end(`${SECRET}\n`);
      stderr.once('data', (data: Buffer) => {
        void post(/http:\S+\d(?:\/\w+)?/.exec(String(data))?.[0] ?? '', all);
      });
    },
  });

  it('subscribes while it runs, verifies with the returned secret, and stops after --count', async () => {
    const line = 'listen --subscribe orders --path /hook --answer 503,200 --count 2 --json --policy';
    const options = posting(signed(SECRET), { 'webhook-id': 'm1' });
    const MISSING = /^A header webhook-id, webhook-timestamp or webhook-signature is missing$/;
    const run = await runOn(subscribing, [...line.split(' '), '{"minimum_delay": 2}'], options);
    expect(run.status).toBe(0);
    expect(run.lines).toMatchObject([
      { method: 'POST', path: '/hook', body: BODY, messageId: 'm1', count: 1, answer: 503, verified: true },
      {
        messageId: 'm1',
        count: 2,
        answer: 200,
        verified: false,
        why: expect.stringMatching(MISSING) as unknown,
      },
    ]);
    expect(run.requests[1]?.body).toMatch(
      /^\{"subscriber":"http:\/\/127\.0\.0\.1:\d+\/hook","options":\{"_retry_policy":\{"minimum_delay": 2\}\}\}$/,
    );
    expect(run.requests.at(-1)?.method).toBe('DELETE');
    // It leaves nothing to restore.
    expect(run.requests.at(-1)?.path).toContain('?now=true');
  });

  it.each([
    ['a file', ' --secret-file -', ''],
    ['the environment', '', SECRET],
  ])(
    'verifies with a secret from %s, which other users of the machine cannot see',
    async (_, option, secret) => {
      const env = { POSTHASTE_WEBHOOK_SECRET: secret };
      const options = { env, ...posting(signed(SECRET)) };
      const { lines } = await runOn({}, `listen --count 1 --json${option}`, options);
      expect(lines).toMatchObject([{ verified: true }]);
    },
  );

  it('deletes its subscription on Ctrl-C, and exits with status 0', async () => {
    const { status, requests } = await runOn(subscribing, 'listen --subscribe orders', {
      onStart: ({ stderr, interrupt }) => {
        stderr.once('data', interrupt);
      },
    });
    expect(status).toBe(0);
    expect(requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'DELETE']);
  });

  it('runs without a deployment, and reports in one sentence that its port is in use', async () => {
    const { port } = new URL((await receiving('200')).url);
    const { status, stderr } = await runOn({}, `listen --port ${port}`);
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `posthaste: Port ${port} is in use by another program. Choose another port with --port, or omit --port to use a free one.\n`,
    });
    expect((await runOn({}, 'listen --for 0.2')).status).toBe(0);
  });
});
