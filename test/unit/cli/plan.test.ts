import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { builtInPrices } from '../../../cli/commands/plan/prices.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { posthaste } from './run-command.ts';

const plan = (...args: string[]) => posthaste(['plan', ...args]);

const result = z.looseObject({
  plan: z.looseObject({ messagesPerDay: z.number(), fanOut: z.number() }),
  bill: z.looseObject({ usd: z.number(), perMillionDeliveries: z.looseObject({ all: z.number() }) }),
  peers: z.array(z.looseObject({ peer: z.string(), perMillionDeliveries: z.number() })),
  peaks: z.array(z.looseObject({ what: z.string(), needed: z.number(), quota: z.number() })),
  outage: z.looseObject({ exhausted: z.number() }).optional(),
  region: z.string(),
});

const refusal = z.strictObject({
  error: z.strictObject({
    code: z.literal('invalid_request'),
    fields: z.array(z.strictObject({ field: z.string(), message: z.string().min(1) })),
  }),
});

const refusedFields = (stdout: string): string[] =>
  refusal.parse(JSON.parse(stdout)).error.fields.map(({ field }) => field);

const pricesFile = async (content: string): Promise<string> => {
  const file = path.join(temporaryFolder(), 'prices.json');
  await writeFile(file, content);
  return file;
};

describe('posthaste plan', () => {
  it('prints the bill, the comparison and the quotas', async () => {
    const { status, stdout } = await plan('--messages-per-day', '1000000', '--fan-out', '3');
    expect(status).toBe(0);
    for (const part of [
      '91,250,000 deliveries per month: 1,000,000 messages per day, each with 1,024 bytes and for 3 subscriptions.',
      'DynamoDB, write units',
      'Amazon SNS over HTTP',
      'EventBridge API Destinations',
      'Lambda, concurrent executions',
      'Assumptions:',
    ])
      expect(stdout).toContain(part);
    expect(stdout).not.toContain('exceeded');
  });

  it('adds up what is charged without traffic', async () => {
    const { stdout } = await plan('--messages-per-day', '1');
    expect(stdout).toMatch(/\nTotal without traffic +13\.71\nTotal +24\.21\n/);
  });

  it('has a line for messages to queues without a subscription', async () => {
    const { stdout } = await plan('--messages-per-day', '10', '--unmatched-per-day', '2000');
    expect(stdout).toContain(
      '\nBesides, 2,000 messages per day to queues without a subscription, whose data is kept.\n',
    );
    expect((await plan('--messages-per-day', '10')).stdout).not.toContain('Besides');
  });

  it('combines first attempts in jobs as the deployment does, and mentions it for a fan-out above 1', async () => {
    const of = async (...args: string[]) => (await plan('--messages-per-day', '1000000', ...args)).stdout;
    const shared =
      'share jobs of about 10 subscriptions; their successes are recorded with one write per job';
    expect(await of('--fan-out', '10')).toContain(shared);
    expect(await of('--fan-out', '1')).not.toContain('share jobs of about');
    const usd = async (...args: string[]): Promise<number> =>
      result.parse(JSON.parse(await of('--fan-out', '10', '--json', ...args))).bill.usd;
    const usual = await usd();
    expect(await usd('--first-attempts-per-job', '1')).toBeGreaterThan(2 * usual);
    expect(await usd('--answer-bytes', '256')).toBeGreaterThan(usual);
    expect(await usd('--subscriptions', '10000')).toBeGreaterThan(usual);
  });

  it('charges the memory of the functions, those of the deployment if they are given', async () => {
    const usd = async (...args: string[]): Promise<number> =>
      result.parse(JSON.parse((await plan('--messages-per-day', '1000000', '--json', ...args)).stdout)).bill
        .usd;
    const usual = await usd();
    expect(await usd('--memory-megabytes', '{"deliver": 512}')).toBe(usual);
    expect(await usd('--memory-megabytes', '{"deliver": 384}')).toBeLessThan(usual);
    expect(await usd('--memory-megabytes', '{"reconcile": 1024}')).toBeGreaterThan(usual);
    const { status, stderr } = await plan('--messages-per-day', '10', '--memory-megabytes', '{"deliver": 1}');
    expect(status).toBe(2);
    expect(stderr).toContain('must be a whole number of megabytes from 128 to 10240');
  });

  it('says how large a number may be where one is too large', async () => {
    const { status, stderr } = await plan('--messages-per-day', '1000000000');
    expect(status).toBe(2);
    expect(stderr).toContain('from 1 to 999999999');
  });

  it('shows how long first attempts wait for a batch window, and warns at low traffic', async () => {
    const of = async (messagesPerDay: number, window: number, ...args: string[]) =>
      (await plan('--messages-per-day', `${messagesPerDay}`, '--batch-window-seconds', `${window}`, ...args))
        .stdout;
    expect(await of(10_000_000, 5)).toContain(
      'waits up to 10 s for full batches: 5 s as a message, and again',
    );
    expect(await of(10_000_000, 5)).not.toContain('Warning');
    expect(await of(1000, 1)).toContain('waits up to 40 s for full batches');
    expect(await of(1000, 1)).toContain('Warning: at 1,000 messages per day, Lambda may wait 20 s');
    expect(await of(1000, 60)).toContain('waits up to 120 s for full batches');
    // Ten messages in 20 s are 43,200 per day.
    expect(await of(43_199, 1)).toContain('waits up to 40 s');
    expect(await of(43_200, 1)).toContain('waits up to 2 s');
    expect(await of(1000, 0)).not.toContain('a batch window');
    expect(JSON.parse(await of(1000, 1, '--json'))).toMatchObject({
      gathering: { seconds: 20, isQuiet: true },
    });
  });

  it('expects in a batch what comes to one of five pollers within the window', async () => {
    const of = async (...args: string[]) =>
      result.parse(JSON.parse((await plan('--messages-per-day', '864000', '--json', ...args)).stdout)).plan;
    expect(await of()).toMatchObject({ messagesPerBatch: 1 });
    expect(await of('--batch-window-seconds', '2')).toMatchObject({ messagesPerBatch: 5 });
    expect(await of('--batch-window-seconds', '9')).toMatchObject({ messagesPerBatch: 10 });
    expect(await of('--batch-window-seconds', '2', '--messages-per-batch', '3')).toMatchObject({
      messagesPerBatch: 3,
    });
  });

  it('charges alarms per metric, and shows which costs are upper bounds or optional', async () => {
    const { stdout } = await plan('--messages-per-day', '1', '--payload-bytes', '1');
    expect(stdout).toContain('1 message per day, each with 1 byte and for 1 subscription.');
    expect(stdout).toContain('Assumptions: 1 message per invocation');
    expect(stdout).toMatch(/^CloudWatch, alarm metrics \(fixed\) +70 +7\.00$/m);
    expect(stdout).toMatch(/^CloudWatch, metrics \(fixed\) +2 +0\.60$/m);
    expect(stdout).toMatch(/^CloudWatch, metrics \(at most\) +35 +10\.50$/m);
    expect(stdout).toContain('metrics for each hour in which they are written');
    expect(stdout).toContain(
      'omit the stack PosthasteMonitoring and the alarms of upgrades, canaryMinutes (saves 11.00 USD)',
    );
  });

  it('prints one line of JSON with --json, including the effect of a given outage', async () => {
    const asked = ['--messages-per-day', '1000', '--fan-out', '2', '--outage-hours', '3', '--json'];
    const { status, stdout } = await plan(...asked);
    expect(status).toBe(0);
    const found = result.parse(JSON.parse(stdout));
    expect(found).toMatchObject({ plan: { messagesPerDay: 1000, fanOut: 2 }, region: 'us-east-1' });
    expect(found.outage?.exhausted).toBeGreaterThan(0);
    expect(stdout.trim().split('\n')).toHaveLength(1);
  });

  it('names the quotas to raise', async () => {
    const { stdout } = await plan('--messages-per-day', '100000000', '--attempt-ms', '2000');
    expect(stdout).toContain('exceeded');
    expect(stdout).toContain('raise Lambda, concurrent executions');
  });

  it('takes prices and regions from a file', async () => {
    const expensive = structuredClone(builtInPrices);
    const usEast = expensive.regions['us-east-1'];
    usEast.dynamodbWriteUnits.usd *= 100;
    const file = await pricesFile(JSON.stringify({ ...expensive, regions: { 'mars-north-1': usEast } }));
    const usd = async (...args: string[]): Promise<number> => {
      const { stdout } = await plan('--messages-per-day', '1000000', '--json', ...args);
      return result.parse(JSON.parse(stdout)).bill.usd;
    };
    expect(await usd('--prices', file, '--region', 'mars-north-1')).toBeGreaterThan(10 * (await usd()));
  });

  it('reports all faults of policy, region and outage together', async () => {
    const wrong = [
      '--policy',
      '{"minimum_delay": 0, "x": 1}',
      '--region',
      'nowhere',
      '--outage-share',
      '0.5',
    ];
    const { status, stdout } = await plan('--messages-per-day', '10', '--json', ...wrong);
    expect(status).toBe(2);
    expect(refusedFields(stdout).toSorted()).toEqual([
      'outage-share',
      'policy.minimum_delay',
      'policy.x',
      'region',
    ]);
  });

  it.each([
    { content: '{', field: 'prices' },
    {
      content: '{"asOf": "2026-01-01", "regions": {"us-east-1": {}}}',
      field: 'prices.regions.us-east-1.sqsRequests',
    },
    { content: '{"asOf": "yesterday", "regions": {}}', field: 'prices.asOf' },
  ])('refuses invalid prices and names the field: $field', async ({ content, field }) => {
    const file = await pricesFile(content);
    const { status, stdout } = await plan('--messages-per-day', '10', '--json', '--prices', file);
    expect(status).toBe(2);
    expect(refusedFields(stdout)).toContain(field);
  });

  it('refuses a negative price', async () => {
    const wrong = structuredClone(builtInPrices);
    wrong.regions['us-east-1'].logs.usd = -1;
    const file = await pricesFile(JSON.stringify(wrong));
    const { stdout } = await plan('--messages-per-day', '10', '--json', '--prices', file);
    expect(refusedFields(stdout)).toEqual(['prices.regions.us-east-1.logs.usd']);
  });
});
