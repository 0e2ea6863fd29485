import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { StubAnswer } from '../../support/aws-stub.ts';
import { jsonLines, posthaste } from './run-command.ts';
import { json } from './stub-api.ts';
import { stubbedDeployment, type StubbedDeployment } from './stubbed-deployment.ts';

const stubs: StubbedDeployment[] = [];
afterAll(async () => {
  await Promise.all(stubs.map((stub) => stub.close()));
});

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

const findings = z.array(
  z.strictObject({
    check: z.string(),
    state: z.enum(['ok', 'failing']),
    detail: z.string(),
    advice: z.string().exactOptional(),
  }),
);

const doctor = async (healths: StubAnswer[], args: string[] = []) => {
  let looks = 0;
  const stub = await stubbedDeployment({
    bodies: [],
    sentAt: 0,
    onApi: (request) => {
      if (request === 'GET /v2/ping') return { status: 204, body: '' };
      const answer = healths[Math.min(looks, healths.length - 1)] ?? { status: 404 };
      looks += 1;
      return answer;
    },
  });
  stubs.push(stub);
  const run = await posthaste(['doctor', '--deployment', 'Posthaste', ...args], { env: stub.environment });
  return { ...run, looks: () => looks };
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

  it('stops if there is no deployment', async () => {
    const stub = await stubbedDeployment({ bodies: [], sentAt: 0 });
    stubs.push(stub);
    const { status, stdout } = await posthaste(['doctor', '--deployment', 'Nowhere'], {
      env: stub.environment,
    });
    expect(status).toBe(1);
    expect(stdout).toMatch(/^failing +deployment +There is no stack Nowhere/);
  });
});
