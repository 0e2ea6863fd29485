import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { appHints, hints, receiverCommand } from '../../../cli/commands/start/hints.ts';
import { loopbackPort } from '../../../local/loopback-port.ts';
import { localEndpoints as endpoints } from '../../support/local-endpoints.ts';

const options = {
  queue: 'demo',
  apiAuthorization: 'none',
  consoleUrl: 'http://127.0.0.1:8900/#token=secret',
};

const commandsWith = (word: string): string[] =>
  hints(endpoints, options)
    .split('\n')
    .filter((line) => line.startsWith('  ') && line.includes(word));

/** The words into which a shell splits a command. */
const wordsOf = (command: string): string[] =>
  execFileSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' })
    .trimEnd()
    .split('\n');

describe('the commands that npm start prints', () => {
  it('set the variables of the README and the keys, and keep the $ in the API address', () => {
    const [line = ''] = commandsWith('export ');
    const names = ['API_URL', 'INGRESS_QUEUE_URL', 'ENDPOINT'].concat(
      ['ENDPOINT_URL', 'REGION', 'DEFAULT_REGION', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY'].map(
        (name) => `AWS_${name}`,
      ),
    );
    const show = names.map((name) => `printenv ${name}`);
    const said = execFileSync('sh', ['-c', [line, ...show].join(';')], { encoding: 'utf8' });
    expect(said.trimEnd().split('\n')).toEqual([
      endpoints.apiUrl,
      endpoints.ingressQueueUrl,
      endpoints.endpoint,
      endpoints.endpoint,
      'us-east-1',
      'us-east-1',
      'key-of-this-start',
      'secret-of-this-start',
    ]);
  });

  it('subscribe the receiver and publish through the API, quoted for a shell', () => {
    const [subscribe = [], publish = []] = commandsWith('curl ').map(wordsOf);
    expect(subscribe).toContain(`${endpoints.apiUrl}/v2/queues/demo/subscriptions`);
    expect(JSON.parse(subscribe.at(-1) ?? '')).toEqual({ subscriber: 'http://127.0.0.1:9000/hook' });
    expect(publish).toContain(`${endpoints.apiUrl}/v2/queues/demo/messages`);
    expect(JSON.parse(publish.at(-1) ?? '')).toMatchObject({ messages: [{ body: { order: 1002 } }] });
  });

  it('publish with the AWS CLI to the local AWS only, without further configuration', () => {
    const [words = []] = commandsWith('aws sqs').map(wordsOf);
    const after = (option: string) => words[words.indexOf(option) + 1];
    expect(words.slice(0, 2)).toEqual([
      'AWS_ACCESS_KEY_ID=key-of-this-start',
      'AWS_SECRET_ACCESS_KEY=secret-of-this-start',
    ]);
    expect(after('--endpoint-url')).toBe(endpoints.endpoint);
    expect(after('--region')).toBe('us-east-1');
    expect(after('--queue-url')).toBe(endpoints.ingressQueueUrl);
    expect(JSON.parse(after('--message-body') ?? '')).toMatchObject({ queue: 'demo' });
  });

  it('use the command with an app of the user, whose API may refuse unsigned calls', () => {
    const said = appHints(endpoints, options.consoleUrl);
    expect(said).toContain('Console: http://127.0.0.1:8900/#token=secret\n');
    expect(said).toMatch(/posthaste -- listen .*--subscribe orders\n[^]*posthaste -- publish orders/);
    expect(said).toContain(commandsWith('export ')[0]);
    expect(said).not.toContain('curl');
  });

  it('come with a note if the API refuses unsigned calls', () => {
    const said = (apiAuthorization: string) => hints(endpoints, { ...options, apiAuthorization });
    expect(said('iam')).toContain('refuses unsigned calls (apiAuthorization=iam)');
    expect(said('none')).not.toContain('unsigned');
  });

  it('come with the address of the console, if there is one', () => {
    expect(hints(endpoints, options)).toContain('Console: http://127.0.0.1:8900/#token=secret\n');
    expect(hints(endpoints, { ...options, consoleUrl: undefined })).not.toContain('Console:');
  });

  it('start a receiver that prints each request and answers 200', async () => {
    expect(commandsWith('node -e')).toEqual([`  ${receiverCommand(9000)}`]);
    const port = await loopbackPort();
    const receiver = spawn('sh', ['-c', `exec ${receiverCommand(port)}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const lines = createInterface(receiver.stdout)[Symbol.asyncIterator]();
      expect((await lines.next()).value).toBe(`Waiting for webhooks on port ${port}`);
      const answer = await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', body: '{"id":"ö"}' });
      expect(answer.status).toBe(200);
      expect((await lines.next()).value).toBe('POST /hook {"id":"ö"}');
    } finally {
      receiver.kill();
      await once(receiver, 'exit');
    }
  });
});
