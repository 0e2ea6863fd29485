import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import type { StubAnswer } from '../../support/aws-stub.ts';
import { jsonLines, posthaste } from './run-command.ts';
import { json } from './stub-api.ts';
import { stubbedDeployment } from './stubbed-deployment.ts';

const EMPTY = {
  ingress: 0,
  delivery: 0,
  retry: 0,
  operation: 0,
  undeliverable: 0,
  ingressDeadLetters: 0,
  deliveryDeadLetters: 0,
  schedulerDeadLetters: 0,
  operationDeadLetters: 0,
};
const CHECKS = { subscriptionsTable: 'ok', deliveriesTable: 'ok', queues: 'ok' };

const health = (queues: object = {}, others: object = {}) =>
  json({ status: 'ok', checks: CHECKS, queues: { ...EMPTY, ...queues }, overdue: 0, ...others });

const NOTICE = { queue: 'orders', messageId: 'm1', subscriptionId: 's1', attempts: [] };

const findings = z.array(
  z.strictObject({
    check: z.string(),
    state: z.enum(['ok', 'failing']),
    detail: z.string(),
    advice: z.string().exactOptional(),
  }),
);

const doctor = async (
  healths: StubAnswer[],
  args: string[] = [],
  queues: Partial<Parameters<typeof stubbedDeployment>[0]> = {},
) => {
  let looks = 0;
  const stub = await stubbedDeployment({
    bodies: [],
    sentAt: 0,
    ...queues,
    onApi: (request) => {
      if (request === 'GET /v2/ping') return { status: 204, body: '' };
      if (request.includes('/deliveries/')) return queues.onApi?.(request) ?? { status: 404 };
      const answer = healths[Math.min(looks, healths.length - 1)] ?? { status: 404 };
      looks += 1;
      return answer;
    },
  });
  const run = await posthaste(['doctor', '--deployment', 'Posthaste', ...args], { env: stub.environment });
  return { ...run, looks: () => looks, deadLetters: stub.deadLetters, held: stub.held };
};

const failing = (stdout: string) =>
  findings.parse(jsonLines(stdout)).filter(({ state }) => state === 'failing');

describe('posthaste doctor', () => {
  it('prints a line for each check, and that all checks passed', async () => {
    const { status, stdout } = await doctor([health()]);
    expect(status).toBe(0);
    expect(stdout.split('\n').filter((line) => line.startsWith('ok '))).toHaveLength(17);
    expect(stdout).toMatch(/All checks passed\.\n$/);
  });

  it('fails for dead letters and overdue retries, with advice for each', async () => {
    const { status, stdout } = await doctor(
      [health({ ingressDeadLetters: 3 }, { overdue: 1000 })],
      ['--json'],
    );
    expect(status).toBe(1);
    expect(failing(stdout)).toMatchObject([
      {
        check: 'ingress dead letters',
        detail: 'about 3',
        advice: /* as a command */ expect.stringContaining('redrive ingress') as unknown,
      },
      { check: 'overdue retries', detail: '1000 or more' },
    ]);
  });

  it('polls a busy work queue, and passes once it is empty', async () => {
    const { status, looks } = await doctor([health({ delivery: 7 }), health({ delivery: 2 }), health()]);
    expect({ status, looks: looks() }).toEqual({ status: 0, looks: 3 });
  });

  it('does not fail for undeliverable deliveries, whose cause is with the subscribers', async () => {
    const { status, stdout } = await doctor([health({ undeliverable: 5 })], ['--json']);
    expect(status).toBe(0);
    expect(
      findings.parse(jsonLines(stdout)).find(({ check }) => check === 'undeliverable queue'),
    ).toMatchObject({
      state: 'ok',
      advice: expect.stringContaining('redrive undeliverable') as unknown,
    });
  });

  it('counts the reasons of dead letters, and leaves them', async () => {
    const attributes = { a: { reason: 'not_json' }, b: { reason: 'not_json' } };
    const { stdout, deadLetters, held } = await doctor([health({ ingressDeadLetters: 3 })], ['--json'], {
      bodies: ['a', 'b', 'c'],
      attributes,
    });
    expect(failing(stdout)).toMatchObject([
      {
        detail: 'about 3: not_json 2, none 1',
        advice: expect.stringContaining('npm run -s posthaste -- deadletters list ingress') as unknown,
      },
    ]);
    expect({ left: deadLetters.size, held: held.size }).toEqual({ left: 3, held: 0 });
  });

  it.each([
    { status: 'delivered', settled: 2, isAdvised: false },
    { status: 'exhausted', settled: 0, isAdvised: true },
  ])(
    'says how many notices are settled where deliveries are $status',
    async ({ status, settled, isAdvised }) => {
      const { stdout } = await doctor([health({ undeliverable: 2 })], ['--json'], {
        bodies: ['m1', 'm2'].map((messageId) => JSON.stringify({ ...NOTICE, messageId })),
        onApi: () =>
          json({ ...NOTICE, status, policy: DEFAULT_RETRY_POLICY, policySource: 'delivery', planned: [] }),
      });
      const found = findings.parse(jsonLines(stdout)).find(({ check }) => check === 'undeliverable queue');
      expect(found?.state).toBe('ok');
      expect(found?.detail.includes(`${settled} settled since`)).toBe(settled > 0);
      expect(found?.advice?.includes('delete undeliverable --settled')).toBe(settled > 0);
      expect(found?.advice?.includes('Retry them once')).toBe(isAdvised);
    },
  );

  it('reads the health report of a failing deployment', async () => {
    const sick = json(
      { status: 'failing', checks: { ...CHECKS, deliveriesTable: 'failing' }, queues: EMPTY },
      503,
    );
    const { status, stdout } = await doctor([sick], ['--json']);
    expect(status).toBe(1);
    expect(failing(stdout).map(({ check }) => check)).toEqual(['deliveries table', 'overdue retries']);
  });

  it('stops at a missing permission, and names it', async () => {
    const { status, stdout } = await doctor([json({ message: 'Forbidden' }, 403)], ['--json']);
    expect(status).toBe(1);
    expect(findings.parse(jsonLines(stdout)).map(({ check, state }) => `${check} ${state}`)).toEqual([
      'deployment ok',
      'API ok',
      'credentials failing',
    ]);
    expect(stdout).toContain('execute-api:Invoke');
  });

  it('looks at the queues of a named deployment only, where POSTHASTE_API_URL gives the API', async () => {
    const stub = await stubbedDeployment({ bodies: [], sentAt: 0, onApi: () => health() });
    const apiUrl = `${stub.environment['AWS_ENDPOINT_URL']}/000000000000/ApiUrl`;
    const env = { ...stub.environment, POSTHASTE_API_URL: apiUrl };
    const checked = async (...args: string[]) => {
      const { stdout } = await posthaste(['doctor', '--json', ...args], { env });
      return findings.parse(jsonLines(stdout)).map(({ check }) => check);
    };
    expect(await checked('--deployment', 'Posthaste')).toContain('access for redrive');
    const unnamed = await checked();
    expect(unnamed).toContain('ingress dead letters');
    expect(unnamed).not.toContain('access for redrive');
  });

  it('stops if there is no deployment', async () => {
    const stub = await stubbedDeployment({ bodies: [], sentAt: 0 });
    const { status, stdout } = await posthaste(['doctor', '--deployment', 'Nowhere'], {
      env: stub.environment,
    });
    expect(status).toBe(1);
    expect(stdout).toMatch(/^failing +deployment +There is no deployment Nowhere/);
  });
});
