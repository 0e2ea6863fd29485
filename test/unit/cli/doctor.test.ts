import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { StubAnswer } from '../../support/aws-stub.ts';
import { STATISTICS_COUNTS } from '../../../shared/domain/delivery/statistics.ts';
import { toRecord } from '../../../shared/domain/delivery/vocabulary.ts';
import { AT, policy, subscription } from './delivery-views.ts';
import { posthaste } from './run-command.ts';
import { FORBIDDEN, json, NO_CONTENT, NOT_FOUND } from './stub-api.ts';
import { stubbedDeployment, xml } from './stubbed-deployment.ts';

const EMPTY = {
  ...{ ingress: 0, delivery: 0, retry: 0, operation: 0, undeliverable: 0 },
  ...{ ingressDeadLetters: 0, deliveryDeadLetters: 0, schedulerDeadLetters: 0, operationDeadLetters: 0 },
};
const CHECKS = { subscriptionsTable: 'ok', deliveriesTable: 'ok', queues: 'ok' };

const health = (queues: object = {}, others: object = {}) =>
  json({ status: 'ok', checks: CHECKS, queues: { ...EMPTY, ...queues }, overdue: 0, ...others });

const NO_QUEUES = json({ queues: [], links: [] });

const finding = z.strictObject({
  check: z.string(),
  state: z.enum(['ok', 'notice', 'failing', 'notShown']),
  detail: z.string(),
  advice: z.string().exactOptional(),
});

/** Examines a deployment, whose health each look shows the next of; the last one stays. */
const doctor = async (
  healths: StubAnswer[],
  { onApi = () => NO_QUEUES, ...queues }: Parameters<typeof stubbedDeployment>[0] = {},
) => {
  let looks = 0;
  const stub = await stubbedDeployment({
    ...queues,
    onApi: (request) => {
      if (request === 'GET /v2/ping') return NO_CONTENT;
      // Without credentials.
      if (request === 'GET /v2/queues') return FORBIDDEN;
      if (/queues\?|\/(deliveries|statistics|subscriptions)[/?]/.test(request)) return onApi(request);
      return healths[Math.min(looks++, healths.length - 1)] ?? { status: 404 };
    },
  });
  const { status, lines } = await stub.run('doctor --json');
  const findings = lines.map((line) => finding.parse(line));
  const failing = findings.filter(({ state }) => state === 'failing');
  const undeliverable = findings.find(({ check }) => check === 'undeliverable queue');
  return { ...stub, status, findings, failing, undeliverable, looks: () => looks };
};

describe('posthaste doctor', () => {
  it('prints a line for each check, and that all checks passed', async () => {
    const { run } = await doctor([health()]);
    const { status, stdout } = await run('doctor');
    expect(status).toBe(0);
    expect(stdout.match(/^ok /gm)).toHaveLength(25);
    expect(stdout).toMatch(/All checks passed\.\n$/);
  });

  it('fails for dead letters and overdue retries, with advice for each', async () => {
    const { status, failing } = await doctor([health({ ingressDeadLetters: 3 }, { overdue: 1000 })]);
    expect(status).toBe(1);
    expect(failing).toMatchObject([
      { check: 'ingress dead letters', detail: 'about 3' },
      { check: 'overdue retries', detail: '1000 or more' },
    ]);
    expect(failing[0]?.advice).toContain('redrive ingress');
  });

  it('polls a busy work queue, and passes once it is empty', async () => {
    const { status, looks } = await doctor([health({ delivery: 7 }), health({ delivery: 2 }), health()]);
    expect({ status, looks: looks() }).toEqual({ status: 0, looks: 3 });
  });

  it('does not fail for undeliverable deliveries, whose cause is with the subscribers', async () => {
    const { status, undeliverable } = await doctor([health({ undeliverable: 5 })]);
    expect({ status, ...undeliverable }).toMatchObject({ status: 0, state: 'ok' });
    expect(undeliverable?.advice).toContain('redrive undeliverable');
  });

  it('counts the reasons of dead letters, and leaves them', async () => {
    const { failing, deadLetters, held } = await doctor([health({ ingressDeadLetters: 3 })], {
      bodies: ['a', 'b', 'c'],
      attributes: { a: { reason: 'not_json' }, b: { reason: 'not_json' } },
    });
    expect(failing).toMatchObject([{ detail: 'about 3: not_json 2, none 1' }]);
    expect(failing[0]?.advice).toContain('npm run -s posthaste -- deadletters list ingress');
    expect({ left: deadLetters.size, held: held.size }).toEqual({ left: 3, held: 0 });
  });

  it.each([
    ['not_json', /deadletters delete ingress --reason not_json(?!.*redrive ingress)/],
    ['invalid_field:data', /deadletters delete ingress --reason invalid_field(?!:)(?!.*redrive ingress)/],
    ['unknown_queue', /redrive ingress --reason unknown_queue --to-queue QUEUE(?!.*deadletters delete)/],
    ['failed_repeatedly', /redrive them: npm run -s posthaste -- redrive ingress(?!.*deadletters delete)/],
  ])('advises by the reason of ingress dead letters: %s', async (reason, advice) => {
    const { failing } = await doctor([health({ ingressDeadLetters: 1 })], {
      bodies: ['a'],
      attributes: { a: { reason } },
    });
    expect(failing[0]?.advice).toMatch(advice);
  });

  it.each([
    ['delivered', 'about 2: none 2; 2 settled since', /^(?!.*Retry them).*delete undeliverable --settled/],
    ['exhausted', 'about 2: none 2', /^(?!.*--settled).*Retry them once/],
  ])('says how many notices are settled where deliveries are %s', async (status, detail, advice) => {
    const notice = { queue: 'orders', messageId: 'm1', subscriptionId: 's1', attempts: [] };
    const { undeliverable } = await doctor([health({ undeliverable: 2 })], {
      bodies: ['m1', 'm2'].map((messageId) => JSON.stringify({ ...notice, messageId })),
      onApi: (request) =>
        request.includes('/queues?')
          ? NO_QUEUES
          : json({ ...notice, status, policy, policySource: 'delivery', planned: [] }),
    });
    expect(undeliverable).toMatchObject({ state: 'ok', detail });
    expect(undeliverable?.advice).toMatch(advice);
  });

  describe('the queues whose messages match nothing', () => {
    const counts = (messages: number, matched: number, filtered: number) => ({
      ...toRecord(STATISTICS_COUNTS, () => 0),
      ...{ messages, matched, filtered },
    });
    const statistics = (points: [messages: number, matched: number, filtered: number][], enabled = true) =>
      json({
        ...{ queue: 'q', enabled, since: AT, until: AT, stepSeconds: 3600 },
        points: points.map((point) => ({ at: AT, ...counts(...point) })),
        total: counts(
          points.reduce((sum, [messages]) => sum + messages, 0),
          0,
          0,
        ),
      });
    const look = async (byQueue: Record<string, StubAnswer>, links: object[] = []) => {
      const run = await doctor([health()], {
        onApi: (request) => {
          const [, queue] = /queues\/(\w+)\/statistics/.exec(request) ?? [];
          if (queue !== undefined) return byQueue[queue] ?? { status: 404 };
          if (request.includes('/subscriptions?')) return json({ subscriptions: [], links: [] });
          return json({ queues: Object.keys(byQueue).map((name) => ({ name, href: '' })), links });
        },
      });
      return { ...run, found: run.findings.find(({ check }) => check === 'unmatched messages') };
    };

    it('are named, and the check has not passed', async () => {
      const { status, found, run } = await look({
        ordes: statistics([[3, 0, 0]]),
        left: statistics([
          [5, 5, 0],
          [2, 0, 0],
        ]),
        picky: statistics([
          [4, 0, 4],
          [1, 0, 2],
        ]),
        some: statistics([
          [4, 1, 3],
          [2, 0, 2],
        ]),
        quiet: statistics([]),
      });
      expect({ status, ...found }).toMatchObject({
        status: 0,
        state: 'notice',
        detail:
          '3 queues in the last 24 hours: ordes (3 messages: its newest messages found no subscription), ' +
          'left (7 messages: its newest messages found no subscription), picky (5 messages: its subscriptions filtered all messages)',
      });
      expect(found?.advice).toContain('find 1d --queue ordes');
      expect((await run('doctor')).stdout).toMatch(
        /^notice +unmatched messages .*[^]*No check failed; 1 notice\.\n$/m,
      );
    });

    it('are not named if there are none, or a queue is deleted meanwhile', async () => {
      const { found } = await look({ orders: statistics([[1, 1, 0]]), gone: NOT_FOUND });
      expect(found).toEqual({
        check: 'unmatched messages',
        state: 'ok',
        detail: 'none in the last 24 hours',
      });
    });

    it('are ten of many', async () => {
      const many = Array.from({ length: 12 }, (_, index) => [`q${index}`, statistics([[1, 0, 0]])] as const);
      const { found } = await look(Object.fromEntries(many));
      expect(found?.detail).toMatch(/^12 queues .*q9 \([^)]*\), 2 more$/);
    });

    it.each([
      ['the setting queueStatistics is off', statistics([], false)],
      ['Forbidden', FORBIDDEN],
    ])('are not shown: %s', async (detail, answer) => {
      expect((await look({ orders: answer })).found).toMatchObject({ state: 'notShown', detail });
    });
  });

  it('names queues with subscriptions that fail, and those with subscriptions that get no requests', async () => {
    const failing = { since: AT, failures: 3 };
    const disabled = { reason: 'gone', at: AT };
    const paused = { since: AT, by: 'queue' };
    const states: Record<string, object[]> = {
      orders: [{}, { failing }, { disabled, failing, paused }, { failing }],
      bills: [{ paused }],
      good: [{}],
    };
    const { status, findings } = await doctor([health()], {
      onApi: (request) => {
        const [, queue] = /queues\/(\w+)\/subscriptions\?/.exec(request) ?? [];
        if (queue !== undefined)
          return json({
            subscriptions: (states[queue] ?? []).map((state) => ({ ...subscription, ...state })),
            links: [],
          });
        if (request.includes('/statistics')) return NOT_FOUND;
        return json({ queues: Object.keys(states).map((name) => ({ name, href: '' })), links: [] });
      },
    });
    const advice = 'See them: npm run -s posthaste -- subscription list orders';
    expect(status).toBe(0);
    expect(findings.filter(({ check }) => check.endsWith(' subscriptions'))).toEqual([
      { check: 'failing subscriptions', state: 'notice', detail: '1 queue: orders (failing 2)', advice },
      {
        check: 'stopped subscriptions',
        state: 'notice',
        detail: '2 queues: orders (disabled 1), bills (paused 1)',
        advice,
      },
    ]);
  });

  it('reads the health report of a failing deployment', async () => {
    const checks = { ...CHECKS, deliveriesTable: 'failing' };
    const { status, failing } = await doctor([json({ status: 'failing', checks, queues: EMPTY }, 503)]);
    expect(status).toBe(1);
    expect(failing.map(({ check }) => check)).toEqual(['deliveries table', 'overdue retries']);
  });

  it('makes the checks of accept that change nothing, and fails for none that credentials do not permit', async () => {
    const denied =
      '<ErrorResponse><Error><Code>AccessDenied</Code><Message>no GetTemplate</Message></Error></ErrorResponse>';
    const { status, findings } = await doctor([health()], { onStack: () => xml(denied, 403) });
    const states = findings.slice(-10).map(({ check, state }) => `${check} ${state}`);
    expect({ status, states }).toEqual({
      status: 0,
      states: [
        'unsigned ok',
        'event-sources notShown',
        'timer notShown',
        'reserved-concurrency notShown',
        'upgrades notShown',
        'tables notShown',
        'quotas notShown',
        'permissions notShown',
        'denied notShown',
        'templates notShown',
      ],
    });
    expect(findings.at(-1)?.detail).toBe('your credentials do not permit it: no GetTemplate');
  });

  it('stops at a missing permission, and names it', async () => {
    const { status, findings } = await doctor([FORBIDDEN]);
    expect(status).toBe(1);
    expect(findings.map(({ check, state }) => `${check} ${state}`)).toEqual([
      'deployment ok',
      'API ok',
      'credentials failing',
    ]);
    expect(findings[2]?.advice).toContain('execute-api:Invoke');
  });

  it('looks at the queues of a named deployment only, where POSTHASTE_API_URL gives the API', async () => {
    const { environment, run } = await doctor([health()]);
    const POSTHASTE_API_URL = `${environment['AWS_ENDPOINT_URL']}/000000000000/ApiUrl`;
    const env = { ...environment, POSTHASTE_API_URL };
    expect((await run('doctor', { env })).stdout).toContain('access for redrive');
    const { stdout } = await posthaste('doctor', { env });
    expect(stdout).toContain('ingress dead letters');
    expect(stdout).not.toContain('access for redrive');
  });

  it('stops if there is no deployment', async () => {
    const { environment: env } = await stubbedDeployment();
    const { status, stdout } = await posthaste('doctor --deployment Nowhere', { env });
    expect(status).toBe(1);
    expect(stdout).toMatch(/^failing +deployment +There is no deployment Nowhere/);
  });
});
