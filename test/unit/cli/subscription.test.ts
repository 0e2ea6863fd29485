import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { armor, Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { clockTime } from '../../../cli/output/text.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { AT, attempt, delivered, detail, ID, listed, page, pending, subscription } from './delivery-views.ts';
import { answering, jsonLines } from './run-command.ts';
import {
  FORBIDDEN,
  json,
  MORE,
  NO_CONTENT,
  NOT_FOUND,
  refusal,
  runOn,
  stubApi,
  type StubRoutes,
} from './stub-api.ts';

const LIST = '/v2/queues/orders/subscriptions';
const ONE = `${LIST}/${ID}`;
const LOCAL = clockTime(AT);
const { name: _, ...unnamed } = subscription;
const view = { ...unnamed, options: { post_headers: { authorization: '***' }, raw_delivery: true } };
const disabled = { ...view, disabled: { reason: 'gone', at: AT } };

const CREATE = 'subscription create orders https://example.com/hook';
const created = (more: object = {}) => ({
  [`POST ${LIST}`]: json({ subscription_id: 'created', secret: 'whsec_abc', ...more }, 201),
});

const UPDATE = `subscription update orders ${ID}`;
const updated = (more: object = {}) => ({
  [`GET ${ONE}`]: json(view),
  [`PATCH ${ONE}`]: json({ ...view, ...more }),
});

describe('posthaste subscription create', () => {
  it('subscribes with all given options, and prints the signing secret once', async () => {
    const flags =
      '--ttl 1h --raw --event-type a --event-type b --attempt-timeout 5 --max-per-second 0.5 --retry-throttled';
    const { stdout, requests } = await runOn(created(), [
      ...`${CREATE} ${flags} --name ACME`.split(' '),
      ...['--policy', '{"maximum_delay": 60}', '--header', 'X-Team: a:b', '--filter', '{"n": [1.0]}'],
    ]);
    expect(stdout).toBe(
      'Created subscription created.\nSigning secret (save it now, it is not shown again): whsec_abc\n',
    );
    expect(requests.at(-1)?.body).toBe(
      '{"subscriber":"https://example.com/hook","name":"ACME","ttl":3600,"options":{"_retry_policy":{"maximum_delay": 60},' +
        '"post_headers":{"X-Team":"a:b"},"raw_delivery":true,"attempt_timeout":5,"max_per_second":0.5,"retry_throttled":true,"event_types":["a","b"],"filter":{"n": [1.0]}}}',
    );
  });

  it('reports a confirmation request that could not be sent', async () => {
    const { stdout } = await runOn(created({ confirmation: 'owed' }), CREATE);
    expect(stdout).toContain('confirmation request could not be sent');
  });
});

it('posthaste subscription list shows subscriptions with their state', async () => {
  const subscriptions = [
    view,
    { ...disabled, id: 's2', name: 'ACME' },
    { ...view, id: 's3', backPressure: { reason: 'circuit_open', since: AT } },
    { ...view, id: 's4', confirmed: false, confirmation: 'asked' },
    { ...view, id: 's5', confirmed: false, confirmation: 'owed' },
  ];
  const api = await stubApi({ [`GET ${LIST}`]: json({ subscriptions, links: [] }) });
  expect((await api.run('subscription list orders')).stdout).toBe(
    'Subscription  Name  State                           Subscriber\n' +
      '5b0c0f1e            enabled                         https://example.com/hook\n' +
      's2            ACME  disabled (gone)                 https://example.com/hook\n' +
      's3                  circuit open                    https://example.com/hook\n' +
      's4                  unconfirmed                     https://example.com/hook\n' +
      's5                  unconfirmed (request not sent)  https://example.com/hook\n',
  );
  expect((await api.run('subscription list orders --json')).lines).toEqual(subscriptions);
});

describe('posthaste subscription update', () => {
  const subscriber = 'https://b.example/';

  it.each([
    ['--policy {}', { options: { ...view.options, _retry_policy: {} } }],
    ['--name ACME', { name: 'ACME' }],
    ['--name ', { name: null }],
    [`--url ${subscriber} --keep-secret`, { subscriber, secret: 'keep' }],
    [`--options {} --url ${subscriber}`, { subscriber, options: {} }],
  ])('sends %s, beside options that it keeps', async (options, body) => {
    const { lines, requests } = await runOn(updated(), `${UPDATE} ${options} --json`);
    expect(lines).toEqual([view]);
    expect(JSON.parse(requests.at(-1)?.body ?? '')).toEqual(body);
    // Only what is merged or can be removed is read first.
    expect(requests).toHaveLength(/--(policy|url)/.test(options) ? 2 : 1);
  });
});

describe('posthaste subscription', () => {
  it('shows how to enable a disabled one', async () => {
    const routes = { [`GET ${ONE}`]: json(disabled), 'GET /v2/queues/orders/deliveries': page() };
    expect((await runOn(routes, `subscription show orders ${ID}`)).stdout).toMatch(
      new RegExp(
        `State +disabled \\(gone\\)\nDisabled at +${LOCAL}\n.*To enable it: .* enable orders 5b0c0f1e\n$`,
        's',
      ),
    );
  });

  it.each([
    ['redacted', '', 'GET', '/v2/queues/orders/export'],
    ['with credentials', ' --with-credentials --plain', 'POST', '/v2/credentials/orders'],
  ])('prints all pages of an export, %s', async (_name, flag, method, path) => {
    const link = { link: `<${path}?marker=m1>; rel="next"` };
    const routes: StubRoutes = {
      [`${method} ${path}`]: ({ path: asked }) =>
        asked.includes('marker=m1')
          ? { body: '{"subscriber":"b"}\n' }
          : { headers: link, body: '{"subscriber":"a"}\n' },
    };
    const { stdout } = await runOn(routes, `subscription export orders${flag}`);
    expect(stdout).toBe('{"subscriber":"a"}\n{"subscriber":"b"}\n');
  });

  describe('in a sealed export', () => {
    const line = '{"subscriber":"https://a.example","secrets":[{"secret":"whsec_MDEyMzQ1"}]}\n';
    const exported = { 'POST /v2/credentials/orders': { body: line } };
    const imported = { 'POST /v2/queues/orders/import': json({ subscriptions: [], failed: [] }) };
    const EXPORT = 'subscription export orders --with-credentials';

    const fileOf = (name: string, content: string): string => {
      const path = join(temporaryFolder(), name);
      writeFileSync(path, content);
      return path;
    };
    const keyPair = async () => {
      const identity = await generateX25519Identity();
      const identityFile = fileOf('key.txt', `# created: now\n${identity}\n`);
      return { identityFile, recipient: await identityToRecipient(identity) };
    };
    const importing = async (text: string, options: string) => {
      const run = await runOn(imported, `subscription import orders ${fileOf('orders.age', text)}${options}`);
      return {
        status: run.status,
        stderr: run.stderr,
        body: run.requests.find(({ method }) => method === 'POST')?.body,
      };
    };

    it('is sealed for each given key, and opened by one of them', async () => {
      const [mine, other, third] = [await keyPair(), await keyPair(), await keyPair()];
      const to = `--recipient ${mine.recipient} --recipient ${other.recipient}`;
      const { stdout, requests } = await runOn(exported, `${EXPORT} ${to}`);
      expect(requests.at(-1)?.path).toContain('secrets=true');
      expect(stdout).toMatch(/^-----BEGIN AGE ENCRYPTED FILE-----\n/);
      expect(stdout).not.toContain('whsec');
      for (const { identityFile } of [mine, other])
        expect((await importing(stdout, ` --identity-file ${identityFile}`)).body).toBe(line);
      const { status, stderr, body } = await importing(stdout, ` --identity-file ${third.identityFile}`);
      expect({ status, body }).toEqual({ status: 1, body: undefined });
      expect(stderr).toMatch(/cannot be opened/);
    });

    const PASSPHRASE = 'correct horse battery staple';

    it('is sealed by a passphrase', async () => {
      // The real work factor takes two seconds of a processor, and once more to open it.
      const spied = vi.spyOn(Encrypter.prototype, 'setPassphrase');
      spied.mockImplementationOnce(function (this: Encrypter, passphrase) {
        spied.mockRestore();
        this.setPassphrase(passphrase);
        this.setScryptWorkFactor(4);
      });
      const passphraseFile = fileOf('passphrase', `${PASSPHRASE}\n`);
      const { stdout } = await runOn(exported, `${EXPORT} --passphrase-file ${passphraseFile}`);
      const decrypter = new Decrypter();
      decrypter.addPassphrase(PASSPHRASE);
      expect(await decrypter.decrypt(armor.decode(stdout), 'text')).toBe(line);
    });

    it('is opened by its passphrase, and by no other', async () => {
      const encrypter = new Encrypter();
      encrypter.setPassphrase(PASSPHRASE);
      encrypter.setScryptWorkFactor(4);
      const file = armor.encode(await encrypter.encrypt(line));
      const opening = (passphrase: string) =>
        importing(file, ` --passphrase-file ${fileOf('passphrase', passphrase)}`);
      expect((await opening(`${PASSPHRASE}\n`)).body).toBe(line);
      expect((await opening('incorrect horse')).stderr).toMatch(/cannot be opened with this passphrase/);
      expect((await importing(file, '')).stderr).toMatch(/sealed\. Give its key by --identity-file/);
    });

    it('imports nothing of a file that was cut', async () => {
      const { identityFile, recipient } = await keyPair();
      const { stdout } = await runOn(exported, `${EXPORT} --recipient ${recipient}`);
      const bytes = armor.decode(stdout);
      const cut = armor.encode(bytes.subarray(0, bytes.length - 1));
      const { status, body } = await importing(cut, ` --identity-file ${identityFile}`);
      expect({ status, body }).toEqual({ status: 1, body: undefined });
    });

    it.each([
      [
        'an unusable key',
        () => `${EXPORT} --recipient age1abc`,
        /^posthaste: age1abc is not an age public key/,
      ],
      [
        'an empty passphrase',
        () => `${EXPORT} --passphrase-file ${fileOf('p', '\n')}`,
        /passphrase is empty/,
      ],
    ])('asks the API for nothing with %s', async (_, lineOf, text) => {
      const { status, stdout, stderr, requests } = await runOn(exported, lineOf());
      expect({ status, stdout, requests }).toEqual({ status: 1, stdout: '', requests: [] });
      expect(stderr).toMatch(text);
    });

    it('does not repeat a private key that it cannot read', async () => {
      const { recipient } = await keyPair();
      const { stdout } = await runOn(exported, `${EXPORT} --recipient ${recipient}`);
      const identityFile = fileOf('key.txt', 'AGE-SECRET-KEY-1NOTAKEY');
      const { stderr } = await importing(stdout, ` --identity-file ${identityFile}`);
      expect(stderr).toMatch(/has a line that is no age private key/);
      expect(stderr).not.toContain('1NOTAKEY');
    });
  });

  it.each([
    ['without a question by --yes', ' --yes --json', {}, 0],
    ['not without a terminal to ask on', '', {}, 2],
    ['after a yes', '', answering('y'), 0],
    ['not after another answer', '', answering(''), 1],
  ])('is deleted %s', async (_, flags, options, status) => {
    const routes = { [`GET ${ONE}`]: json(view), [`DELETE ${ONE}`]: NO_CONTENT };
    const run = await runOn(routes, `subscription delete orders ${ID}${flags}`, options);
    const deletions = run.requests.filter(({ method }) => method === 'DELETE').length;
    expect({ status: run.status, deletions }).toEqual({ status, deletions: status === 0 ? 1 : 0 });
    if (flags !== '') expect(run.lines).toEqual([{ queue: 'orders', subscriptionId: ID }]);
    if (status === 2)
      expect(run.stderr).toContain(`delete subscription ${ID}, ${view.subscriber}, add --yes`);
  });
});

describe('posthaste subscription show', () => {
  const shown = (view: object, deliveries = page()) =>
    runOn(
      { [`GET ${ONE}`]: json(view), 'GET /v2/queues/orders/deliveries': deliveries },
      `subscription show orders ${ID}`,
    );

  it.each([
    [{ reason: 'circuit_open' }, 'one request at a time, the subscriber is or was down since'],
    [{ reason: 'receiver_throttled', perSecond: 4.25 }, 'at most 4.25 requests a second since a refusal at'],
  ])('says in local time what back-pressure means, and how to end it: %j', async (pressure, state) => {
    const failing = { since: AT, failures: 3 };
    const { stdout } = await shown({ ...subscription, failing, backPressure: { since: AT, ...pressure } });
    expect(stdout).toMatch(new RegExp(`State +enabled, ${state} ${LOCAL}\n`));
    expect(stdout).toMatch(new RegExp(`Failing since +${LOCAL}, 3 counted failures\n`));
    expect(stdout).toMatch(/\nIf it works again: .* subscription enable orders 5b0c0f1e\n$/);
  });

  it('says until when the previous secret signs too', async () => {
    const { stdout } = await shown({ ...subscription, previousSecretExpiresAt: AT });
    expect(stdout).toContain(`Previous secret  signs beside the current one until ${LOCAL}\n`);
  });

  const open = (count: number, waiting?: string) =>
    Array.from({ length: count }, (_, index) => ({ ...listed, messageId: `${waiting}-${index}`, waiting }));
  const kinds = [open(1, 'rate_limited'), open(2, 'circuit_open'), open(3), open(4, 'receiver_throttled')];
  const many = { deliveries: open(100, 'circuit_open'), links: MORE };

  it.each([
    [
      '15 deliveries: 1 for the rate limit of the subscription, 2 because the subscriber is or was down, 3 for the next attempt, 4 because the subscriber throttles, 5 until it is received',
      page(...kinds.flat(), { ...listed, status: 'exhausted' }, ...open(5, 'pull')),
    ],
    ['at least 100 deliveries: 100 because the subscriber is or was down', json(many)],
  ])('says how many deliveries wait and why, by one request: %s', async (text, deliveries) => {
    const { stdout, requests } = await shown(subscription, deliveries);
    expect(stdout).toMatch(new RegExp(`\\nWaiting +${text}\\n`));
    expect(requests.map(({ path }) => path).filter((path) => path.includes('/deliveries'))).toEqual([
      `/v2/queues/orders/deliveries?subscription=${ID}&limit=100`,
    ]);
  });

  it.each([
    ['none waits', page({ ...listed, status: 'exhausted' })],
    ['the caller may not list deliveries', FORBIDDEN],
  ])('says nothing of deliveries where %s', async (_, deliveries) => {
    const { status, stdout, stderr } = await shown(subscription, deliveries);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).not.toContain('Waiting');
  });
});

describe('posthaste subscription test', () => {
  const TEST = `subscription test orders ${ID}`;

  it('fails if the subscriber rejects the test message, and shows its response', async () => {
    const refused = { ...attempt, outcome: 'rejected', statusCode: 400, snippet: 'go \u001b[2J away' };
    const delivery = { ...pending, status: 'rejected', reason: 'http_400', attempts: [refused] };
    const line = [...TEST.split(' '), '--data', '{"n": 1.0}'];
    const { status, stdout, requests } = await runOn({ [`POST ${ONE}/test`]: json({ delivery }) }, line);
    expect(status).toBe(1);
    expect(stdout).toContain('Status        rejected (http_400)\n');
    expect(stdout).toContain('400 "go \\u001b[2J away"');
    expect(requests[0]?.body).toBe('{"data":{"n": 1.0}}');
  });

  it('polls for the first attempt of a test if the API does not wait for it', async () => {
    const routes: StubRoutes = {
      [`POST ${ONE}/test`]: json({ delivery: pending }, 202),
      [`GET /v2/queues/orders/messages/m1/deliveries/${ID}`]: (_, look) =>
        look === 0 ? NOT_FOUND : detail(delivered),
    };
    const { status, lines } = await runOn(routes, `${TEST} --json`);
    expect(status).toBe(0);
    expect(lines).toMatchObject([{ status: 'delivered', attempts: [{ number: 1 }, { number: 2 }] }]);
  });

  it('does not wait for the first attempt of a test that waits to be received', async () => {
    const nextAttempt = { number: 1, phase: 'initial', dueAt: AT, by: 'pull', waiting: 'pull' };
    const delivery = { ...pending, nextAttemptAt: AT, nextAttempt };
    const { stdout, requests } = await runOn({ [`POST ${ONE}/test`]: json({ delivery }, 202) }, TEST);
    expect(stdout).toContain('waits until it is received');
    expect(requests).toHaveLength(1);
  });
});

describe('a secret of a subscription', () => {
  it('is rotated to one from a file, which other users cannot see', async () => {
    const { stdout, requests } = await runOn(
      { [`POST ${ONE}/secret/rotate`]: json({ secret: 'whsec_new' }) },
      `subscription rotate-secret orders ${ID} --secret-file - --grace 60 --json`,
      { input: 'whsec_new\n' },
    );
    expect(stdout).toBe('{"secret":"whsec_new"}\n');
    expect(requests[0]?.body).toBe('{"secret":"whsec_new","graceSeconds":60}');
  });

  it.each([
    ['rotate-secret', 'secret/rotate', {}, `The old secret stays valid until ${LOCAL}.\n`],
    [
      'pull-token',
      'pull-token',
      { token: 'phpull_new' },
      `Token (save it now, it is not shown again): phpull_new\nThe previous token stays valid until ${LOCAL}.\n`,
    ],
  ])(
    'is valid for a while after %s, which says in local time how long',
    async (command, path, answer, text) => {
      const routes = { [`POST ${ONE}/${path}`]: json({ ...answer, previousExpiresAt: AT }) };
      const { stdout, requests } = await runOn(routes, `subscription ${command} orders ${ID} --grace 60`);
      expect(stdout).toBe(text);
      expect(requests[0]?.body).toBe('{"graceSeconds":60}');
    },
  );

  it('is given and changed by a file of credentials, of which only what is not secret is shown', async () => {
    const auth = { type: 'basic', username: 'ada', password: '***', certificate: '-----BEGIN' };
    const api = await stubApi({ ...created(), ...updated({ certificateExpiresAt: AT, options: { auth } }) });
    const input = '{"type": "basic", "username": "ada", "password": "p"}\n';
    const options = { auth: JSON.parse(input) as unknown };
    await api.run(`${CREATE} --auth-file -`, { input });
    const { stdout } = await api.run(`${UPDATE} --auth-file -`, { input });
    const bodies = api.requests.flatMap(({ body }) => (body === '' ? [] : [JSON.parse(body) as unknown]));
    expect(bodies).toEqual([
      { subscriber: 'https://example.com/hook', options },
      { options: { ...view.options, ...options } },
    ]);
    expect(stdout).toMatch(/^Authentication +basic, username: ada, password: \*\*\*$/m);
    expect(stdout).toContain(`Certificate expires  ${LOCAL}\n`);
    expect(stdout).not.toContain('BEGIN');
  });

  it.each(['{"password": secret}', '["secret"]'])(
    'is not quoted from a file that cannot be read: %s',
    async (input) => {
      const { status, stderr, requests } = await runOn({}, `${CREATE} --auth-file -`, { input });
      expect({ status, requests }).toEqual({ status: 1, requests: [] });
      expect(stderr).not.toContain('secret');
      expect(stderr).toContain('must contain a JSON object');
    },
  );
});

describe('posthaste subscription import', () => {
  const PATH = 'POST /v2/queues/orders/import';
  const IMPORT = 'subscription import orders';
  const error = { code: 'conflict', message: 'is there already' };
  let output: string;
  beforeEach(() => (output = join(temporaryFolder(), 'results.jsonl')));

  const inputOf = (count: number) => ({
    input: Array.from({ length: count }, (_, n) => `{"subscriber":"https://example.com/${n}"}`).join('\n'),
  });

  /** Each request imports its first line; its second is refused, and its third is unchanged. */
  const answered = (_: unknown, index: number) =>
    json({
      imported: 1,
      replaced: 0,
      unchanged: 1,
      subscriptions: [
        { line: 1, result: 'imported', subscription_id: `new-${index}`, secret: `whsec_${index}` },
        { line: 3, result: 'unchanged', subscription_id: `there-${index}` },
      ],
      failed: [{ line: 2, error }],
    });

  const LINES = [
    { line: 1, result: 'imported', subscription_id: 'new-0', secret: 'whsec_0' },
    { line: 2, error },
    { line: 3, result: 'unchanged', subscription_id: 'there-0' },
    { line: 501, result: 'imported', subscription_id: 'new-1', secret: 'whsec_1' },
    { line: 502, error },
    { line: 503, result: 'unchanged', subscription_id: 'there-1' },
  ];

  it('imports any number of lines, 500 per request, and prints the result of each with its line number', async () => {
    const { status, lines, requests } = await runOn({ [PATH]: answered }, `${IMPORT} --json`, inputOf(700));
    expect({ status, lines }).toEqual({ status: 1, lines: LINES });
    expect(requests.slice(1).map(({ body }) => body.split('\n').length)).toEqual([500, 200]);
  });

  it('does not wait for lines that nothing sends', async () => {
    const { status, stderr, requests } = await runOn({}, IMPORT, answering(undefined));
    expect({ status, requests }).toEqual({ status: 2, requests: [] });
    expect(stderr).toContain('there is nothing to import; name a file, or - for stdin');
  });

  it('prints the secrets, the refused lines and the counts as text', async () => {
    const { status, stdout, stderr, url } = await runOn({ [PATH]: answered }, IMPORT, inputOf(700));
    expect(status).toBe(1);
    expect(stdout).toBe(
      'Line 1: subscription new-0, secret whsec_0\n' +
        'Line 501: subscription new-1, secret whsec_1\n' +
        'Queue orders: 2 imported, 0 replaced, 2 unchanged, 2 refused.\n',
    );
    expect(stderr).toBe(
      `→ ${url}\nLine 2 was refused: is there already\nLine 502 was refused: is there already\n`,
    );
  });

  it('writes the results to a file that only its owner can read, and then prints no secret', async () => {
    const api = await stubApi({ [PATH]: answered });
    const { stdout, stderr } = await api.run(`${IMPORT} --output ${output}`, inputOf(700));
    expect(jsonLines(readFileSync(output, 'utf8'))).toEqual(LINES);
    expect(statSync(output).mode & 0o777).toBe(0o600);
    expect(stdout).toBe('Queue orders: 2 imported, 0 replaced, 2 unchanged, 2 refused.\n');
    expect(stderr).not.toContain('whsec');
    rmSync(output);
    const { lines } = await api.run(`${IMPORT} --output ${output} --json`, inputOf(3));
    expect(lines).toEqual([{ imported: 1, replaced: 0, unchanged: 1, failed: 1 }]);
  });

  it('sends no request if the output file exists, because its secrets would be lost', async () => {
    writeFileSync(output, 'secrets of an earlier import');
    const line = `${IMPORT} --output ${output}`;
    const { status, stderr, requests } = await runOn({ [PATH]: answered }, line, inputOf(1));
    expect({ status, requests }).toEqual({ status: 1, requests: [] });
    expect(stderr).toContain('cannot be written');
    expect(readFileSync(output, 'utf8')).toBe('secrets of an earlier import');
  });

  const refused = refusal(409, 'conflict', 'is being deleted');

  it('keeps the results of earlier requests if one fails, and reports the line at which it stopped', async () => {
    const routes: StubRoutes = { [PATH]: (_, index) => (index === 0 ? answered(_, 0) : refused) };
    const { status, stderr, requests } = await runOn(routes, `${IMPORT} --output ${output}`, inputOf(1200));
    expect(status).toBe(1);
    expect(jsonLines(readFileSync(output, 'utf8'))).toEqual(LINES.slice(0, 3));
    expect(stderr).toMatch(/The import stopped at line 501.*is being deleted/s);
    expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
  });

  it('leaves no empty output file if nothing was imported', async () => {
    await runOn({ [PATH]: refused }, `${IMPORT} --output ${output}`, inputOf(1));
    expect(existsSync(output)).toBe(false);
  });

  it('completes the current request when interrupted, and starts no other', async () => {
    const begun = Promise.withResolvers<undefined>();
    const beginning = (_: unknown, index: number) => {
      begun.resolve(undefined);
      return answered(_, index);
    };
    const { status, lines } = await runOn({ [PATH]: beginning }, `${IMPORT} --json`, {
      onStart: ({ stdin, interrupt }) => {
        stdin.end(inputOf(700).input);
        void begun.promise.then(interrupt);
      },
    });
    expect({ status, lines }).toEqual({ status: 130, lines: LINES.slice(0, 3) });
  });

  it('prints nothing from a response with an unexpected form', async () => {
    const subscriptions = [{ line: 1, result: 'imported', secret: 'whsec_0' }];
    const run = await runOn({ [PATH]: json({ subscriptions, failed: [] }) }, IMPORT, inputOf(1));
    expect(run.status).toBe(1);
    expect(run.stdout + run.stderr).not.toContain('whsec');
  });
});

describe('a subscription in a command', () => {
  const named = (id: string, subscriber: string, name: string) => ({ ...subscription, id, subscriber, name });
  const all = [
    named(ID, 'https://acme.example/hook', 'ACME'),
    named('5b0cffff-7d0c-4a57-9d1a-0f2f3f1c9b11', 'https://acme.example/hook/2', 'ACME test'),
    named('77777777-7d0c-4a57-9d1a-0f2f3f1c9b11', 'https://twin.example/1', 'twin'),
    named('88888888-7d0c-4a57-9d1a-0f2f3f1c9b11', 'https://twin.example/2', 'twin'),
  ];

  const routes: StubRoutes = {
    ...Object.fromEntries(all.map((one) => [`GET ${LIST}/${one.id}`, json(one)])),
    /** The API's match: the start of an id, or a part of a name or URL. One subscription per page. */
    [`GET ${LIST}`]: ({ path }) => {
      const asked = new URLSearchParams(path.split('?')[1]);
      const match = asked.get('match') ?? '';
      const found = all.filter(
        ({ id, name, subscriber }) =>
          id.startsWith(match) || name.includes(match) || subscriber.includes(match),
      );
      const at = Number(asked.get('marker') ?? 0);
      const links = at + 1 < found.length ? [{ rel: 'next', href: `/x?marker=${at + 1}` }] : [];
      return json({ subscriptions: found.slice(at, at + 1), links });
    },
  };
  const show = (reference: string) => runOn(routes, ['subscription', 'show', 'orders', reference, '--json']);

  it.each([
    ['its id', ID],
    ['the start of its id', '5b0c0'],
    ['its name, which another one contains', 'ACME'],
    ['its URL, which another one contains', 'https://acme.example/hook'],
  ])('is found by %s', async (_, reference) => {
    expect((await show(reference)).lines).toMatchObject([{ id: ID }]);
  });

  it.each([
    [
      'a start of two ids',
      '5b0c',
      'fits 2 subscriptions of queue orders: 5b0c0f1e (ACME), 5b0cffff (ACME test). Give',
    ],
    ['a name of two', 'twin', 'fits 2 subscriptions'],
    ['a part of a name', 'CME t', 'on queue orders. Did you mean 5b0cffff (ACME test)?'],
    ['a start that is too short', '888', 'on queue orders. Did you mean 88888888 (twin)?'],
    ['none', 'nothing', 'on queue orders. To see all, run npm run -s posthaste -- subscription list orders"'],
  ])('is refused with the ones it may mean: %s', async (_, reference, message) => {
    const { status, stderr } = await show(reference);
    expect(status).toBe(1);
    expect(stderr).toContain(`${reference} ${message}`);
  });

  it('is found by its whole id only on a deployment of an earlier version', async () => {
    const fields = [{ field: 'match', message: 'is not a known field' }];
    const earlier = {
      ...routes,
      [`GET ${LIST}`]: refusal(400, 'invalid_request', 'match is not a known field', fields),
      'GET /v2/queues/orders/deliveries': page(),
    };
    const { status, stderr } = await runOn(earlier, 'subscription show orders ACME');
    expect(status).toBe(1);
    expect(stderr).toContain('Names and URLs of subscriptions need a deployment of this version: ');
    expect((await runOn(earlier, `subscription show orders ${ID}`)).status).toBe(0);
  });

  it.each([
    ['deliveries list orders --subscription ACME', /\/deliveries\?.*subscription=/],
    ['recover start orders --since 1h --subscription ACME', /\/recoveries .*"subscription":"/],
  ])('is looked up for a filter as well: %s', async (line, asked) => {
    const { requests } = await runOn(routes, line);
    const all = requests.map(({ path, body }) => `${path} ${body}`).join('\n');
    expect(all).toMatch(new RegExp(`${asked.source}${ID}`));
  });
});
