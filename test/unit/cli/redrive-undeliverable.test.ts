import { afterAll, describe, expect, it } from 'vitest';
import type { StubAnswer } from '../../support/aws-stub.ts';
import { removeSettledNotices } from '../../../cli/dead-letters/remove-settled.ts';
import { terminalIn } from '../../../cli/terminal.ts';
import { captured, jsonLines, posthaste, withSdkVariables } from './run-command.ts';
import { json, refusal } from './stub-api.ts';
import { stubbedDeployment, type StubbedDeployment } from './stubbed-deployment.ts';

const stubs: StubbedDeployment[] = [];
afterAll(async () => {
  await Promise.all(stubs.map((stub) => stub.close()));
});

const attempt = (number: number) => ({
  number,
  round: 1,
  phase: 'initial',
  startedAt: '2026-01-01T00:00:00.000Z',
  durationMs: 5,
  outcome: 'failed',
  statusCode: 503,
});
const policy = {
  retries_with_no_delay: 1,
  minimum_delay_retries: 0,
  minimum_delay: 5,
  maximum_delay: 30,
  maximum_delay_retries: 0,
  retry_backoff_function: 'linear',
  ignore_subscription_override: false,
  backoff_retries: 0,
  backoff_exponent: 2,
  jitter: 'none',
  retry_on_status: [],
};
const delivery = (messageId: string, status: string, attempts: number) => ({
  queue: 'orders',
  messageId,
  subscriptionId: 's1',
  status,
  attempts: Array.from({ length: attempts }, (_, index) => attempt(index + 1)),
  policy,
});
const notice = (messageId: string, attempts = 2) =>
  JSON.stringify({ ...delivery(messageId, 'exhausted', attempts), lastStatus: 503, data: { big: 1 } });

type Standing = { status: string; attempts: number; retry?: StubAnswer };

/**
 * A deployment whose undeliverable queue holds a notice of each delivery, with the current states of the deliveries.
 */
const deployed = async (
  standings: Record<string, Standing>,
  bodies = Object.keys(standings).map((id) => notice(id)),
) => {
  const retried: string[] = [];
  const stub = await stubbedDeployment({
    bodies,
    sentAt: Date.now() - 60_000,
    onApi: (request) => {
      const [, method, id = '', retry] =
        /^(\w+) \/v2\/queues\/orders\/messages\/(\w+)\/deliveries\/s1(\/retry)?$/.exec(request) ?? [];
      const standing = standings[id];
      if (standing === undefined) return refusal(404, 'not_found', 'there is no such delivery');
      const view = delivery(id, standing.status, standing.attempts);
      if (method === 'GET') return json({ ...view, policySource: 'delivery', planned: [] });
      if (retry !== undefined) retried.push(id);
      return standing.retry ?? json({ ...view, status: 'retrying' }, 202);
    },
  });
  stubs.push(stub);
  const posthasteThere = (...args: string[]) =>
    posthaste([...args, '--deployment', 'Posthaste'], { env: stub.environment });
  const run = (...args: string[]) => posthasteThere('redrive', 'undeliverable', ...args);
  return { ...stub, retried, run, posthaste: posthasteThere };
};

const summary = (counts: { redriven: number; settled: number; skipped: number; left: number }) =>
  `${JSON.stringify({ queue: 'undeliverable', ...counts, hidden: 0 })}\n`;

describe('posthaste redrive undeliverable', () => {
  it('retries each delivery through the API and removes its notice', async () => {
    const { run, retried, deadLetters, sent } = await deployed({
      m1: { status: 'exhausted', attempts: 2 },
      m2: { status: 'rejected', attempts: 2 },
    });
    expect(await run('--json')).toEqual({
      status: 0,
      stdout: summary({ redriven: 2, settled: 0, skipped: 0, left: 0 }),
      stderr: '',
    });
    expect(retried.toSorted()).toEqual(['m1', 'm2']);
    expect(deadLetters.size).toBe(0);
    // Deliveries keep their ids: nothing is published again.
    expect(sent).toEqual([]);
  });

  it('removes the notices of deliveries that need no retry', async () => {
    const { run, retried, deadLetters } = await deployed({
      delivered: { status: 'delivered', attempts: 3 },
      open: { status: 'retrying', attempts: 2 },
      cancelled: { status: 'cancelled', attempts: 2 },
      later: { status: 'exhausted', attempts: 4 },
    });
    const { stdout } = await run();
    expect(stdout).toMatch(
      /^Notices of undeliverable deliveries in Posthaste: 0 redriven, 4 settled \(.*\), 0 skipped, 0 left\.\n$/,
    );
    for (const reason of ['delivered', 'open', 'cancelled', 'ended_again'])
      expect(stdout).toContain(`${reason} 1`);
    expect(retried).toEqual([]);
    expect(deadLetters.size).toBe(0);
  });

  it('skips and keeps notices of deliveries that cannot be retried, with the reason', async () => {
    const gone = refusal(409, 'conflict', 'the body of this message is not kept');
    const bodies = [notice('m1'), notice('unknown'), 'garbage', '{"queue":"orders"}'];
    const { run, deadLetters } = await deployed(
      { m1: { status: 'exhausted', attempts: 2, retry: gone } },
      bodies,
    );
    const { status, stdout } = await run();
    expect(status).toBe(0);
    expect(stdout).toContain('0 redriven, 4 skipped');
    for (const reason of [
      'the body of this message is not kept',
      'not_on_record',
      'not_json',
      'invalid_field:messageId',
    ])
      expect(stdout).toContain(`${reason} 1`);
    expect(deadLetters.size).toBe(4);
  });

  it('can be repeated after a failure between a retry and the removal of its notice: the notice is settled', async () => {
    const standings: Record<string, Standing> = {
      m1: { status: 'exhausted', attempts: 2 },
      m2: { status: 'exhausted', attempts: 2, retry: json({ message: 'busy' }, 503) },
    };
    const { run, deadLetters, retried } = await deployed(standings);
    const { status, stderr } = await run('--json');
    expect(status).toBe(1);
    expect(stderr).toContain('The redrive stopped after 0 messages');
    expect(deadLetters.size).toBe(2);

    standings['m1'] = { status: 'retrying', attempts: 2 };
    standings['m2'] = { status: 'exhausted', attempts: 2 };
    expect((await run('--json')).stdout).toBe(summary({ redriven: 1, settled: 1, skipped: 0, left: 0 }));
    expect(deadLetters.size).toBe(0);
    expect(retried.filter((id) => id === 'm1')).toHaveLength(1);
  });

  it('leaves a second notice of a delivery for the next run, which settles it', async () => {
    const standings = { m1: { status: 'exhausted', attempts: 2 } };
    const { run, retried, deadLetters } = await deployed(standings, [notice('m1'), notice('m1')]);
    expect((await run('--json')).stdout).toBe(summary({ redriven: 1, settled: 0, skipped: 0, left: 1 }));
    standings.m1 = { status: 'exhausted', attempts: 4 };
    expect((await run('--json')).stdout).toBe(summary({ redriven: 0, settled: 1, skipped: 0, left: 0 }));
    expect(retried).toEqual(['m1']);
    expect(deadLetters.size).toBe(0);
  });
});

const STANDINGS: Record<string, Standing> = {
  m1: { status: 'delivered', attempts: 3 },
  m2: { status: 'cancelled', attempts: 2 },
  m3: { status: 'exhausted', attempts: 4 },
  m4: { status: 'exhausted', attempts: 2 },
  m5: { status: 'retrying', attempts: 2 },
};

describe('undeliverable notices', () => {
  it('are retried neither by a dry run, nor removed', async () => {
    const { run, retried, deadLetters } = await deployed(STANDINGS);
    expect(JSON.parse((await run('--dry-run', '--json')).stdout)).toEqual({
      queue: 'undeliverable',
      redriven: 1,
      settled: 4,
      skipped: 0,
      left: 0,
      hidden: 0,
      dryRun: true,
    });
    expect({ retried, left: deadLetters.size }).toEqual({ retried: [], left: 5 });
  });

  it('show what became of their deliveries', async () => {
    const { posthaste: there } = await deployed(STANDINGS);
    const { stdout } = await there('deadletters', 'list', 'undeliverable', '--json');
    expect(jsonLines(stdout)).toMatchObject([
      { messageId: 'm1', state: 'delivered' },
      { messageId: 'm2', state: 'cancelled' },
      { messageId: 'm3', state: 'ended_again' },
      { messageId: 'm4', state: 'exhausted' },
      { messageId: 'm5', state: 'open' },
    ]);
  });

  it('that need nothing more can be deleted; the others stay', async () => {
    const { posthaste: there, deadLetters, held } = await deployed(STANDINGS);
    const { stdout } = await there('deadletters', 'delete', 'undeliverable', '--settled', '--yes');
    expect(stdout).toContain('3 deleted, 2 skipped (exhausted 1, open 1), 0 left');
    expect([...deadLetters.values()]).toEqual([notice('m4'), notice('m5')]);
    expect(held.size).toBe(0);
  });
});

describe('a recovery that was awaited', () => {
  const captureErrors = (environment: NodeJS.ProcessEnv) => {
    const host = captured(environment);
    return { terminal: terminalIn(host), said: () => String(host.stderr.read() ?? '') };
  };
  const choice = { deployment: 'Posthaste' };

  it('removes the settled notices of its queue', async () => {
    const { environment, deadLetters } = await deployed(STANDINGS);
    const { terminal, said } = captureErrors(environment);
    const run = (queue: string) =>
      withSdkVariables(environment, () => removeSettledNotices(0, { queue }, choice, terminal));
    await run('others');
    expect(deadLetters.size).toBe(5);
    await run('orders');
    expect(deadLetters.size).toBe(2);
    expect(said()).toBe('Removed 3 settled notices from the undeliverable queue.\n');
  });

  it('removes nothing where only the address of the API is given: the queues found may not belong to it', async () => {
    const { environment, deadLetters } = await deployed(STANDINGS);
    const { terminal, said } = captureErrors({
      ...environment,
      POSTHASTE_API_URL: 'https://api.example.com',
    });
    const run = () => removeSettledNotices(0, { queue: 'orders' }, {}, terminal);
    expect(await withSdkVariables(environment, run)).toBe(0);
    expect({ left: deadLetters.size, said: said() }).toEqual({ left: 5, said: '' });
  });

  it('says how to remove them if it cannot', async () => {
    const { environment } = await deployed(STANDINGS);
    const { terminal, said } = captureErrors(environment);
    await withSdkVariables(environment, () =>
      removeSettledNotices(1, { queue: 'orders' }, { deployment: 'Nowhere' }, terminal),
    );
    expect(said()).toMatch(
      /^Settled notices stay in the undeliverable queue \(There is no stack Nowhere.*deadletters delete undeliverable --settled\n$/,
    );
  });
});
