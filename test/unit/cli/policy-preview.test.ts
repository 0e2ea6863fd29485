import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RETRY_POLICY, RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';
import { POLICY_PRESETS } from '../../../shared/domain/retry/vocabulary.ts';
import { posthaste, shellWords } from './run-command.ts';

const preview = (...args: string[]) => posthaste(['policy', 'preview', ...args]);

const docs = readFileSync(path.resolve(import.meta.dirname, '../../../docs/retry-policy.md'), 'utf8');

describe('posthaste policy preview', () => {
  it('prints only the source, the complete policy, every retry and the total with --json', async () => {
    const policy = {
      retries_with_no_delay: 1,
      minimum_delay_retries: 1,
      maximum_delay: 20,
      maximum_delay_retries: 1,
      backoff_retries: 3,
      jitter: 'full',
    };
    const { status, stdout, stderr } = await preview('--json', '--policy', JSON.stringify(policy));
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      source: 'subscription',
      policy: { ...DEFAULT_RETRY_POLICY, ...policy },
      retries: [
        { retry: 1, phase: 'immediate', delaySeconds: 0 },
        { retry: 2, phase: 'pre_backoff', delaySeconds: 5 },
        { retry: 3, phase: 'backoff', delaySeconds: 5 },
        { retry: 4, phase: 'backoff', delaySeconds: 12.5 },
        { retry: 5, phase: 'backoff', delaySeconds: 20 },
        { retry: 6, phase: 'post_backoff', delaySeconds: 20 },
      ],
      totalSeconds: 62.5,
    });
  });

  const OVERRIDING = '{"ignore_subscription_override":true}';

  it.each([
    ['defaults', [], DEFAULT_RETRY_POLICY],
    ['subscription', ['--policy', 'patient', '--queue-policy', 'quick'], RETRY_POLICY_PRESETS.patient],
    ['queue', ['--queue-policy', 'quick'], RETRY_POLICY_PRESETS.quick],
    ['queue', ['--policy', '{}', '--queue-policy', OVERRIDING], { ignore_subscription_override: true }],
  ])('names the %s as the source for %j', async (source, args, policy) => {
    const { stdout } = await preview('--json', ...args);
    expect(JSON.parse(stdout)).toMatchObject({ source, policy });
  });

  it('prints a table with the mechanism of each retry', async () => {
    const { status, stdout } = await preview(
      '--policy',
      '{"retries_with_no_delay":1,"minimum_delay_retries":1,"maximum_delay":90,"maximum_delay_retries":1,"backoff_retries":1}',
    );
    expect(status).toBe(0);
    expect(stdout).toBe(
      [
        "Policy in force: the subscription's, from --policy.",
        '',
        'Retry  Phase         Delay     Elapsed  Mechanism',
        '    1  immediate       0 s         0 s  same invocation',
        '    2  pre_backoff     5 s         5 s  SQS delay',
        '    3  backoff         5 s        10 s  SQS delay',
        '    4  post_backoff   90 s  1 min 40 s  Scheduler',
        '',
        '4 retries over 1 min 40 s. If the last one fails, the delivery is exhausted.',
        'Mechanisms are for the default schedulerThreshold of 90 s; a deployment may have another.',
        '',
      ].join('\n'),
    );
  });

  it('prints no table if there is no retry', async () => {
    const { stdout } = await preview(
      '--policy={"retries_with_no_delay":0,"minimum_delay_retries":0,"maximum_delay_retries":0,"backoff_retries":0}',
    );
    expect(stdout).toBe(
      "Policy in force: the subscription's, from --policy.\n\nNo retries: a delivery whose first attempt fails is exhausted.\n",
    );
  });

  it('mentions an override, jitter and additional statuses that are retried', async () => {
    const { stdout } = await preview(
      '--policy={}',
      '--queue-policy={"ignore_subscription_override":true,"jitter":"equal","retry_on_status":[408,429]}',
    );
    expect(stdout).toContain("the queue's, from --queue-policy, which overrides the subscription's");
    expect(stdout).toContain('Jitter (equal)');
    expect(stdout).toContain('408, 429');
  });

  it('lists the presets in its help as docs/retry-policy.md does, and as they preview', async () => {
    const { stdout: help } = await preview('--help');
    for (const name of POLICY_PRESETS) {
      const row = new RegExp(`^\\| \`${name}\` +\\|(.+)$`, 'm').exec(docs)?.[1] ?? '';
      const [attempts = '', most = '', mean = ''] = row.split('|').map((cell) => cell.trim());
      expect(help.replaceAll(/ +/g, ' ')).toContain(`${name} ${attempts} ${most} ${mean}\n`);
      const { stdout } = await preview('--policy', name);
      expect(stdout).toContain(`${Number(attempts) - 1} retries over ${most}.`);
      expect(stdout.includes(`${mean} on average`)).toBe(mean !== most);
    }
  });

  it.each([
    ['{"minimum_delay":0,"nope":1}', '{}', ['minimum_delay', 'nope'], 'invalid_retry_policy'],
    ['{}', '{"minimum_delay":true}', ['queue.minimum_delay'], 'invalid_retry_policy'],
    ['{"backoff_retries":101}', 'null', ['_retry_policy', 'queue._retry_policy'], 'invalid_retry_policy'],
    ['{"nope":1}', '{oops}', ['nope', 'queue._retry_policy'], 'invalid_json'],
    ['', '{}', ['_retry_policy'], 'invalid_json'],
  ])('refuses %s on %s with status 2 and the fields in JSON', async (policy, queuePolicy, fields, code) => {
    const args = ['--json', `--policy=${policy}`, `--queue-policy=${queuePolicy}`];
    const { status, stdout, stderr } = await preview(...args);
    expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
    const message = expect.stringMatching(/./) as unknown;
    const error = { code, fields: fields.map((field) => ({ field, message })) };
    expect(JSON.parse(stdout)).toEqual({ error });
  });

  it.each([
    ['{"minimum_delay":60}', '  maximum_delay must not be below minimum_delay'],
    [
      'patiant',
      '  _retry_policy must be an object or the name of a preset. There is no preset patiant. Presets: qui',
    ],
  ])('prints the faults of a policy as text on stderr: %s', async (policy, fault) => {
    const { status, stdout, stderr } = await preview(`--policy=${policy}`);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(`The retry policy is invalid:\n${fault}`);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('has a working example in its help', async () => {
    const { stdout } = await preview('--help');
    const example = /policy preview --policy '(.+)'/.exec(stdout)?.[1] ?? '';
    expect((await preview('--policy', example)).status).toBe(0);
  });

  it('prints the output that docs/retry-policy.md shows', async () => {
    const examples = [...docs.matchAll(/```console\n\$ npm run -s posthaste -- (.+)\n([^`]+)```/g)];
    expect(examples.length).toBeGreaterThan(2);
    for (const [, line = '', shown] of examples) {
      const { stdout, stderr } = await posthaste(shellWords(line));
      expect(stdout + stderr).toBe(shown);
    }
  });
});
