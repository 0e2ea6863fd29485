import { afterAll, describe, expect, it } from 'vitest';
import { jsonLines } from './run-command.ts';
import { json, refusal } from './stub-api.ts';
import {
  closeDeployments,
  deployed,
  notice,
  type Standing,
  subscription,
} from './undeliverable-deployment.ts';

afterAll(closeDeployments);

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

  describe('of a subscription that was deleted', () => {
    const NONE = refusal(404, 'not_found', 'there is no such subscription');
    const standings = { m1: { status: 'exhausted', attempts: 2 }, m2: { status: 'rejected', attempts: 2 } };
    const bodies = [notice('m1'), notice('m2'), notice('unknown')];

    it.each([
      ['a redrive', ['redrive', 'undeliverable'], '0 redriven, 3 settled', 0],
      ['a dry run', ['redrive', 'undeliverable', '--dry-run'], '0 would be redriven, 3 settled', 3],
      ['a deletion', ['deadletters', 'delete', 'undeliverable', '--settled', '--yes'], '3 deleted', 0],
    ])('are settled by %s', async (_, args, said, left) => {
      const { posthaste: there, retried, deadLetters } = await deployed(standings, bodies, NONE);
      const { stdout } = await there(...args);
      expect(stdout).toContain(said);
      expect({ retried, left: deadLetters.size }).toEqual({ retried: [], left });
    });

    it('show that', async () => {
      const { posthaste: there } = await deployed(standings, bodies, NONE);
      const { stdout } = await there('deadletters', 'list', 'undeliverable', '--json');
      expect(jsonLines(stdout)).toMatchObject(bodies.map(() => ({ state: 'subscription_deleted' })));
    });
  });

  it.each([
    ['disabled; enable it first', { disabled: { reason: 'manual', at: '2026-01-01T00:00:00.000Z' } }],
    ['unconfirmed', { confirmed: false }],
  ])('of a subscription that is %s would be kept, says a dry run', async (state, difference) => {
    const subscribed = json({ ...subscription, ...difference });
    const { run } = await deployed({ m1: { status: 'exhausted', attempts: 2 } }, undefined, subscribed);
    expect((await run('--dry-run')).stdout).toContain(
      `0 would be redriven, 1 skipped (the subscription is ${state} 1)`,
    );
  });

  it('are redriven by a caller who may not read subscriptions', async () => {
    const { run, retried } = await deployed(
      { m1: { status: 'exhausted', attempts: 2 } },
      undefined,
      json({ message: 'Forbidden' }, 403),
    );
    expect((await run()).stdout).toContain('1 redriven');
    expect(retried).toEqual(['m1']);
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
