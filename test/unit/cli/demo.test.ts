import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventLine, feedLine } from '../../../cli/commands/start/demo/feed.ts';
import { demoSubscribers, judge, verdictTable } from '../../../cli/commands/start/demo/scenario.ts';
import { hints } from '../../../cli/commands/start/hints.ts';
import { requestFor, aMessage, aSubscription } from '../../support/builders.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import {
  makeSecret,
  secretText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import { operatorEventSchema } from '../../../shared/wire/events/operator-event.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';
import { localEndpoints as endpoints } from '../../support/local-endpoints.ts';
import { startDemoReceiver } from '../../../cli/commands/start/demo/demo.ts';

type AttemptView = DeliveryView['attempts'][number];

const failed = (number: number, phase: AttemptView['phase'], second: number): AttemptView => ({
  number,
  round: 1,
  phase,
  startedAt: `2026-01-01T10:00:${String(second).padStart(2, '0')}.000Z`,
  durationMs: 100,
  outcome: 'failed',
  statusCode: 503,
});

const retrying = (attempts: AttemptView[], nextAttempt?: DeliveryView['nextAttempt']): DeliveryView => ({
  queue: 'demo',
  messageId: 'm',
  subscriptionId: 's',
  status: 'retrying',
  attempts,
  policy: DEFAULT_RETRY_POLICY,
  ...(nextAttempt === undefined ? {} : { nextAttempt, nextAttemptAt: nextAttempt.dueAt }),
});

const [first, second] = [failed(1, 'initial', 0), failed(2, 'immediate', 1)];
const dueAt = '2026-01-01T10:00:06.100Z';
const third = { number: 3, phase: 'pre_backoff', dueAt, by: 'sqs_delay' } as const;

describe('a line of the feed', () => {
  const lineOf = (attempt: AttemptView, view: DeliveryView): string => {
    const line = feedLine({ message: 'm1', subscriber: 'scheduled', view, attempt });
    return stripVTControlCharacters(line);
  };

  it('shows the subscriber, the result, and the time and mechanism of the pending attempt', () => {
    expect(lineOf(second, retrying([first, second], third))).toMatch(
      /^\d\d:00:01\.000 {2}m1 {2}scheduled {2}#2 immediate {5}503, 100 ms {2}→ #3 pre_backoff in 5\.0 s, SQS delay$/,
    );
  });

  it('shows the recorded next attempt, with its mechanism', () => {
    const made = { ...second, by: 'same_invocation', dueAt: '2026-01-01T10:00:00.100Z' } as const;
    expect(lineOf(first, retrying([first, made]))).toMatch(/→ #2 immediate at once, same invocation$/);
  });

  it.each<[string, AttemptView['outcome'], DeliveryView['status']]>([
    ['✓ delivered', 'delivered', 'delivered'],
    ['✗ rejected, not retried', 'rejected', 'rejected'],
    ['✗ cancelled', 'failed', 'cancelled'],
    ['✗ exhausted, no retries left', 'failed', 'exhausted'],
  ])('shows the end of the delivery: %s', (text, outcome, status) => {
    const attempt = { ...first, outcome };
    expect(lineOf(attempt, { ...retrying([attempt]), status })).toMatch(new RegExp(`${text}$`));
  });

  it.each([
    ['immediate', '2026-01-01T10:00:00.100Z', 'same_invocation'],
    ['post_backoff', '2026-01-01T10:00:30.100Z', 'sqs_delay'],
    ['pre_backoff', '2026-01-01T10:00:10.100Z', 'scheduler'],
  ] as const)('fits into 100 columns with indentation if the next phase is %s', (phase, due, by) => {
    const attempt = failed(8, 'post_backoff', 0);
    const line = lineOf(attempt, retrying([attempt], { number: 9, phase, dueAt: due, by }));
    expect(line).toContain('→ #9');
    expect(line.length).toBeLessThanOrEqual(98);
  });

  it('shows the error if there is no status', () => {
    const { statusCode: _, ...unanswered } = first;
    const attempt = { ...unanswered, error: 'timeout' };
    expect(lineOf(attempt, retrying([attempt]))).toContain('timeout, 100 ms');
  });
});

describe('the check of a demo delivery', () => {
  const scheduled = demoSubscribers.find(({ name }) => name === 'scheduled');
  if (scheduled === undefined) throw new Error('no such subscriber');
  const attempts: AttemptView[] = [
    first,
    { ...failed(2, 'pre_backoff', 10), outcome: 'delivered', by: 'scheduler' },
  ];
  const delivered: DeliveryView = { ...retrying(attempts), status: 'delivered' };
  const byAnother = {
    ...delivered,
    attempts: attempts.map((made) => ({ ...made, by: 'sqs_delay' as const })),
  };
  const asExpected = {
    subscriber: scheduled,
    message: 'm',
    view: delivered,
    requests: 2,
    unverified: 0,
    schedulerThreshold: 7,
  };

  it('finds no fault in a delivery that ended as expected, also by SQS where that is used for its delay', () => {
    expect(judge(asExpected).faults).toEqual([]);
    expect(judge({ ...asExpected, view: byAnother, schedulerThreshold: 90 }).faults).toEqual([]);
  });

  it.each([
    ['is exhausted, not delivered', { view: { ...delivered, status: 'exhausted' as const } }],
    ['took 4 attempts, not 2', { view: { ...delivered, attempts: [...attempts, ...attempts] }, requests: 4 }],
    ['has 2 recorded attempts, but the receiver counted 3 requests', { requests: 3 }],
    ['had 1 requests without a valid signature', { unverified: 1 }],
    ['was not started by EventBridge Scheduler', { view: byAnother }],
    ['was never recorded', { view: undefined }],
  ])('reports that it %s', (fault, difference) => {
    expect(judge({ ...asExpected, ...difference }).faults).toEqual([fault]);
  });

  it('is printed as one table row per delivery', () => {
    const rows = verdictTable([judge(asExpected), judge({ ...asExpected, view: byAnother })]).split('\n');
    expect(rows[1]).toMatch(/^scheduled +m +delivered +2 +10\.1 s +yes$/);
    expect(rows.map((row) => row.split(/ {2,}/).at(-1))).toEqual([
      'as expected',
      'yes',
      'no: was not started by EventBridge Scheduler',
    ]);
  });
});

describe('the line of an operator event', () => {
  const names = { subscriber: () => 'hopeless', message: () => 'm2' };
  const at = new Date(2027, 0, 15, 8, 30, 1, 7);
  const about = { deployment: 'Posthaste', queue: 'demo', subscriptionId: 's-1' };
  const time = '2027-01-10T00:00:00.000Z';
  const attempt = { messageId: 'm', attempt: 2, statusCode: 404, at: time };

  it.each([
    ['delivery.exhausted', { messageId: 'm', attempts: 6, at: time }, 'm2 to hopeless, after 6 attempts'],
    ['attempt.failed', { ...attempt, outcome: 'rejected' }, 'm2 to hopeless, attempt 2 rejected'],
    ['subscription.disabled', { reason: 'gone', at: time }, 'hopeless, gone'],
    ['subscription.failing', { since: time, failures: 20 }, `hopeless, 20 failures since ${time}`],
    ['subscription.certificate_expiring', { expiresAt: time, days: 7 }, `hopeless, at ${time}`],
    ['subscription.recovered', { since: time, at: time }, `hopeless, had failed since ${time}`],
  ])('shows the event in at most 100 columns: %s', (type, detail, text) => {
    const sent = { source: 'posthaste', 'detail-type': type, detail: { ...about, ...detail } };
    const printed = stripVTControlCharacters(eventLine(operatorEventSchema.parse(sent), names, at));
    expect(printed).toBe(`08:30:01.007  event ${type}  ${text}`);
    expect(printed.length).toBeLessThanOrEqual(100);
  });
});

it("the demo's receiver counts all requests, and those not signed with a secret that it knows", async () => {
  const [healthy] = demoSubscribers;
  if (healthy === undefined) throw new Error('The demo has no subscribers.');
  const heard: string[] = [];
  const receiver = await startDemoReceiver(healthy, {
    onRequest: (messageId) => heard.push(messageId),
    onDelivered: () => heard.push('taken'),
  });
  onTestFinished(receiver.close);
  const call = async (...secrets: SigningSecret[]): Promise<number> => {
    const attempt = { startedAt: Date.now(), userAgent: 'Posthaste/test', secrets };
    const { headers, body } = await requestFor(aMessage(), aSubscription(), attempt);
    return (await fetch(receiver.url, { method: 'POST', headers, body })).status;
  };
  const counts = () => [receiver.requests('message-1'), receiver.unverified('message-1')];

  const secret = makeSecret('v1', randomBytes);
  await call(secret);
  expect(counts()).toEqual([1, 1]);
  receiver.trust(secretText(secret));
  expect(await call(secret)).toBe(200);
  expect(counts()).toEqual([2, 1]);
  await call(makeSecret('v1', randomBytes));
  await call();
  expect(counts()).toEqual([4, 3]);
  expect(heard.slice(0, 2)).toEqual(['message-1', 'taken']);
});

const CONSOLE = 'http://127.0.0.1:8900/#token=secret';

describe('the commands that npm start prints', () => {
  it('set the addresses and the keys, and keep the $ in the API address', () => {
    const [line = ''] = /export .*/.exec(hints(endpoints, CONSOLE)) ?? [];
    const shown = {
      API_URL: endpoints.apiUrl,
      INGRESS_QUEUE_URL: endpoints.ingressQueueUrl,
      ENDPOINT: endpoints.endpoint,
      AWS_ENDPOINT_URL: endpoints.endpoint,
      AWS_REGION: 'us-east-1',
      AWS_DEFAULT_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'key-of-this-start',
      AWS_SECRET_ACCESS_KEY: 'secret-of-this-start',
    };
    const show = Object.keys(shown).map((name) => `printenv ${name}`);
    const said = execFileSync('sh', ['-c', [line, ...show].join(';')], { encoding: 'utf8' });
    expect(said.trimEnd().split('\n')).toEqual(Object.values(shown));
  });

  it('receive, verify and publish by the command, which signs where the API refuses unsigned calls', () => {
    const said = hints(endpoints, CONSOLE);
    expect(said).toMatch(/posthaste -- listen .*--subscribe orders\n[^]*posthaste -- publish orders/);
  });

  it('come with the address of the console, if there is one', () => {
    expect(hints(endpoints, CONSOLE)).toContain(`Console: ${CONSOLE}\n`);
    expect(hints(endpoints, undefined)).not.toContain('Console:');
  });
});
