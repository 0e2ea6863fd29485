import { afterAll, describe, expect, it } from 'vitest';
import { removeSettledNotices } from '../../../cli/dead-letters/remove-settled.ts';
import { terminalIn } from '../../../cli/terminal.ts';
import { captured, withSdkVariables } from './run-command.ts';
import { closeDeployments, deployed, notice, RECOVERY, type Standing } from './undeliverable-deployment.ts';

afterAll(closeDeployments);

describe('a recovery that was awaited', () => {
  const captureErrors = (environment: NodeJS.ProcessEnv) => {
    const host = captured(environment);
    return { terminal: terminalIn(host), said: () => String(host.stderr.read() ?? '') };
  };
  const choice = { deployment: 'Posthaste' };
  const ACCEPTED: Record<string, Standing> = {
    before: { status: 'delivered', attempts: 3, acceptedAt: '2025-12-31T23:59:59.999Z' },
    first: { status: 'delivered', attempts: 3, acceptedAt: RECOVERY.since },
    failed: { status: 'exhausted', attempts: 2, acceptedAt: RECOVERY.since },
    after: { status: 'delivered', attempts: 3, acceptedAt: RECOVERY.until },
    expired: { status: 'delivered', attempts: 3 },
  };

  it('removes the settled notices of the deliveries that it covers: of its queue, subscription, status and window', async () => {
    const { environment, deadLetters } = await deployed(ACCEPTED);
    const { terminal, said } = captureErrors(environment);
    const run = (selection: object) =>
      withSdkVariables(environment, () =>
        removeSettledNotices(0, { ...RECOVERY, ...selection }, choice, terminal),
      );
    for (const other of [{ queue: 'others' }, { subscription: 's2' }, { status: 'rejected' }])
      await run(other);
    expect(deadLetters.size).toBe(5);
    await run({ subscription: 's1', status: 'exhausted' });
    expect([...deadLetters.values()]).toEqual(
      ['before', 'failed', 'after', 'expired'].map((id) => notice(id)),
    );
    expect(said()).toBe(
      'Removed 1 settled notice from the undeliverable queue of Posthaste, account 111122223333, us-east-1.\n',
    );
  });

  it('removes them if it was started so; a look at it changes nothing', async () => {
    const { posthaste: there, deadLetters } = await deployed(ACCEPTED);
    expect((await there('recover', 'status', 'orders', 'r1', '--wait', '--json')).status).toBe(0);
    expect(deadLetters.size).toBe(5);
    const { status, stderr } = await there('recover', 'start', 'orders', '--since', '1h', '--wait', '--json');
    expect(status).toBe(0);
    expect(stderr).toContain('of Posthaste, account 111122223333');
    expect(deadLetters.size).toBe(4);
  });

  it('removes nothing where only the address of the API is given: the queues found may not belong to it', async () => {
    const { environment, deadLetters } = await deployed(ACCEPTED);
    const { terminal, said } = captureErrors({
      ...environment,
      POSTHASTE_API_URL: 'https://api.example.com',
    });
    const run = () => removeSettledNotices(0, RECOVERY, {}, terminal);
    expect(await withSdkVariables(environment, run)).toBe(0);
    expect({ left: deadLetters.size, said: said() }).toEqual({ left: 5, said: '' });
  });

  it('says how to remove them if it cannot', async () => {
    const { environment } = await deployed(ACCEPTED);
    const { terminal, said } = captureErrors(environment);
    await withSdkVariables(environment, () =>
      removeSettledNotices(1, RECOVERY, { deployment: 'Nowhere' }, terminal),
    );
    expect(said()).toMatch(
      /^Settled notices stay in the undeliverable queue \(There is no deployment Nowhere.*deadletters delete undeliverable --settled\n$/,
    );
  });
});
