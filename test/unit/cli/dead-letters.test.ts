import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeDeadLetter, detailOf } from '../../../cli/dead-letters/describe.ts';
import { matcherOf } from '../../../cli/dead-letters/look.ts';
import type { DeadLetter, DeadLetterAttributes } from '../../../shared/domain/delivery/dead-letter.ts';
import { REDRIVEN_QUEUES } from '../../../shared/domain/work-queues.ts';
import { encodeFirstJob } from '../../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation } from '../../../shared/wire/jobs/operation.ts';
import { deadLetterDetailSchema, deadLetterViewSchema } from '../../../shared/wire/views/console.ts';
import { aMessage } from '../../support/builders.ts';
import { jsonLines, posthaste, type RunOptions, answering, ctrlC } from './run-command.ts';
import { json, refusal } from './stub-api.ts';
import { stubbedDeployment } from './stubbed-deployment.ts';
import { subscription } from './undeliverable-deployment.ts';

const AN_HOUR = 3_600_000;

const BODIES = [
  '{"queue":"orders","id":"m1","data":1}',
  '{"queue":"orders","id":"m2","data":2}',
  'gar\u001bbage',
];
const ATTRIBUTES = {
  [BODIES[0] ?? '']: { reason: 'unknown_queue' },
  [BODIES[2] ?? '']: { reason: 'not_json', 'x-api-key': 'geheim' },
};

const deployed = async (options: Partial<Parameters<typeof stubbedDeployment>[0]> = {}) => {
  const stub = await stubbedDeployment({
    bodies: BODIES,
    sentAt: Date.now() - AN_HOUR,
    attributes: ATTRIBUTES,
    ...options,
  });
  const run = (args: string[], more: RunOptions = {}) =>
    posthaste(['deadletters', ...args, '--deployment', 'Posthaste'], { env: stub.environment, ...more });
  return { ...stub, run };
};

describe('posthaste deadletters list', () => {
  it('prints one dead letter per line with its reason, changes nothing and releases all', async () => {
    const { run, deadLetters, held, sent } = await deployed();
    const { status, stdout, stderr } = await run(['list', 'ingress', '--json']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const listed = jsonLines(stdout).map((line) => deadLetterViewSchema.parse(line));
    expect(listed).toMatchObject([
      { id: 'letter-0', reason: 'unknown_queue', queue: 'orders', messageId: 'm1', receives: 3 },
      { id: 'letter-1', queue: 'orders', messageId: 'm2' },
      { id: 'letter-2', reason: 'not_json', excerpt: 'gar\\u001bbage' },
    ]);
    expect(listed[1]?.reason).toBeUndefined();
    expect({ left: deadLetters.size, held: held.size, sent }).toEqual({ left: 3, held: 0, sent: [] });
  });

  it('prints a table, in which a message that SQS moved has the reason none', async () => {
    const { run } = await deployed();
    const { stdout } = await run(['list', 'ingress']);
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      expect.stringMatching(
        /^Of +Id +Age +Reason +Queue +Message +Subscription +State +Received +Excerpt$/,
      ) as unknown,
      expect.stringMatching(/^ingress +letter-0 +1 h +unknown_queue +orders +m1 +3 +\{"queue"/) as unknown,
      expect.stringMatching(/^ingress +letter-1 +1 h +none +orders +m2/) as unknown,
    ]);
  });

  it('says how many it does not show', async () => {
    const { run, held } = await deployed();
    const { status, stdout, stderr } = await run(['list', 'ingress', '--limit', '2', '--json']);
    expect(jsonLines(stdout)).toHaveLength(2);
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: 'ingress: showing 2 of about 3 messages; for more, use --limit.\n',
    });
    expect(held.size).toBe(0);
  });

  it('says with status 1 that another look hides messages', async () => {
    const { run, held } = await deployed();
    held.add('letter-1');
    const { status, stdout, stderr } = await run(['list', 'ingress', '--reason', 'none']);
    expect(status).toBe(1);
    expect(stdout).toBe('No matching dead letter is visible.\n');
    expect(stderr).toMatch(
      /^ingress: About 1 message is hidden by another look until \d\d:\d\d:\d\d at the latest; repeat then\.\n$/,
    );
  });

  it('says what became of the deliveries of notices, and why it could not be read', async () => {
    const notice = (messageId: string) =>
      JSON.stringify({ queue: 'orders', messageId, subscriptionId: 's1', attempts: [] });
    const { run } = await deployed({
      bodies: [notice('m1'), notice('m2')],
      onApi: (request) =>
        request.endsWith('/subscriptions/s1')
          ? json(subscription)
          : refusal(404, 'not_found', 'there is no such delivery'),
    });
    const { stdout } = await run(['list', 'undeliverable', '--json']);
    expect(jsonLines(stdout)).toMatchObject([{ state: 'not_on_record' }, { state: 'not_on_record' }]);

    const denied = await deployed({
      bodies: [notice('m1')],
      onApi: () => json({ message: 'Forbidden' }, 403),
    });
    const { status, stdout: shown, stderr } = await denied.run(['list', 'undeliverable']);
    expect(status).toBe(0);
    expect(shown).toContain('m1');
    expect(stderr).toContain('undeliverable: what became of the deliveries could not be read: Forbidden');
  });

  it('releases what it holds on Ctrl-C, and exits with status 130', async () => {
    const { press, options } = ctrlC();
    const notice = JSON.stringify({ queue: 'q', messageId: 'm', subscriptionId: 's', attempts: [] });
    const { run, held } = await deployed({
      bodies: [notice],
      onApi: () => {
        press();
        return refusal(404, 'not_found', 'gone');
      },
    });
    const { status } = await run(['list', 'undeliverable', '--json'], options);
    expect({ status, held: held.size }).toEqual({ status: 130, held: 0 });
  });
});

describe('posthaste deadletters show', () => {
  it('prints the whole body and the attributes, without credentials and control characters', async () => {
    const { run, held } = await deployed();
    const { status, stdout } = await run(['show', 'ingress', 'letter-2']);
    expect(status).toBe(0);
    expect(stdout).toContain('Attribute x-api-key  ***');
    expect(stdout).toMatch(/\n\ngar\\u001bbage\n$/);
    expect(held.size).toBe(0);
    const { stdout: asJson } = await run(['show', 'ingress', 'letter-0', '--json']);
    expect(deadLetterDetailSchema.parse(JSON.parse(asJson))).toMatchObject({ body: BODIES[0] });
  });

  it.each([
    [
      'nowhere',
      /^posthaste: None of the dead letters of the ingress queue has an id that starts with nowhere\.\n$/,
    ],
    ['letter', /^posthaste: Several dead letters of the ingress queue .* such as letter-0 and letter-1\./],
  ])('says that an id has no dead letter, or several: %s', async (id, sentence) => {
    const { run } = await deployed();
    const { status, stderr } = await run(['show', 'ingress', id]);
    expect(status).toBe(1);
    expect(stderr).toMatch(sentence);
  });
});

describe('posthaste deadletters delete', () => {
  it('deletes the wanted ones after a yes, which names their number', async () => {
    const { run, deadLetters } = await deployed();
    const { status, stdout, stderr } = await run(['delete', 'ingress', '--queue', 'orders'], answering('y'));
    expect(stderr).toContain('Delete 2 messages from the dead letters of the ingress queue in Posthaste?');
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: 'Dead letters of the ingress queue in Posthaste: 2 deleted, 0 skipped, about 1 left.\n',
    });
    expect([...deadLetters.keys()]).toEqual(['letter-2']);
  });

  it('deletes nothing after a no, and without a terminal to ask', async () => {
    const { run, deadLetters, held } = await deployed();
    expect(await run(['delete', 'ingress', '--all'], answering('n'))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Nothing was deleted.') as unknown,
    });
    expect(await run(['delete', 'ingress', '--all'])).toMatchObject({
      status: 1,
      stderr:
        '→ Posthaste, account 111122223333, us-east-1\nposthaste: To delete 3 messages from the dead letters of the ingress queue in Posthaste, add --yes: there is no terminal to ask on.\n',
    });
    expect({ left: deadLetters.size, held: held.size }).toEqual({ left: 3, held: 0 });
  });

  it('only counts with --dry-run', async () => {
    const { run, deadLetters } = await deployed();
    const { stdout } = await run(['delete', 'ingress', '--reason', 'not_json', '--dry-run']);
    expect(stdout).toBe(
      'Dead letters of the ingress queue in Posthaste: 1 would be deleted, 0 skipped, 2 left. Nothing was changed.\n',
    );
    expect(deadLetters.size).toBe(3);
  });

  it('reports chosen messages that are not there', async () => {
    const { run, deadLetters } = await deployed();
    const gone = '0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10';
    const { status, stdout } = await run(['delete', 'ingress', '--id', gone, '--yes', '--json']);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ which: 'ingress', deleted: 0, missing: 1, hidden: 0 });
    expect(deadLetters.size).toBe(3);
  });
});

const SENT_AT = Date.UTC(2026, 0, 1);

const text = (value: string) => ({ type: 'String', text: value });

const aDeadLetter = (body: string, attributes: DeadLetterAttributes = {}): DeadLetter => ({
  id: '0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10',
  sentAt: SENT_AT,
  receipt: 'r',
  body,
  attributes,
  receives: 51,
});

const body = {
  kind: 'inline' as const,
  message: aMessage({ queue: 'orders', id: 'm1', data: '{"total":1}' }),
};
const place = { queue: 'orders', messageId: 'm1', bucket: 0 };

describe('a dead letter as it is shown', () => {
  it('names the queue, the message and the reason of what a producer sent', () => {
    const deadLetter = aDeadLetter('{"queue":"orders","id":"m1","data":{"total":1}}', {
      reason: text('unknown_queue'),
    });
    expect(describeDeadLetter('ingress', deadLetter)).toEqual({
      which: 'ingress',
      id: deadLetter.id,
      sentAt: '2026-01-01T00:00:00.000Z',
      receives: 51,
      reason: 'unknown_queue',
      queue: 'orders',
      messageId: 'm1',
      subscriptionIds: [],
      bytes: 47,
      excerpt: '{"queue":"orders","id":"m1","data":{"total":1}}',
    });
  });

  it('shows the message id that a redrive keeps, and the names in a message that dispatch could not read', () => {
    const attributes = { 'posthaste-id': text('first'), queue: text('orders') };
    expect(describeDeadLetter('ingress', aDeadLetter('{"a":1}', attributes))).toMatchObject({
      queue: 'orders',
      messageId: 'first',
    });
    expect(describeDeadLetter('ingress', aDeadLetter('{"queue":"orders","id":"m1"}'))).toMatchObject({
      queue: 'orders',
      messageId: 'm1',
    });
  });

  it('names the subscriptions of jobs, and excerpts the data of the message', () => {
    const job = encodeFirstJob({
      kind: 'job',
      key: { ...place, subscriptionId: 's1' },
      attempt: 1,
      acceptedAt: 1,
      body,
    });
    const chunk = encodeFirstJob({
      kind: 'chunk',
      key: { ...place, chunk: 0 },
      subscriptionIds: ['s1', 's2'],
      acceptedAt: 1,
      body,
    });
    const shown = { queue: 'orders', messageId: 'm1', excerpt: '{"total":1}' };
    expect(describeDeadLetter('delivery', aDeadLetter(job))).toMatchObject({
      ...shown,
      subscriptionIds: ['s1'],
    });
    expect(describeDeadLetter('delivery', aDeadLetter(chunk))).toMatchObject({
      ...shown,
      subscriptionIds: ['s1', 's2'],
    });
  });

  it('shows operations and notices, whose reason is that of the delivery', () => {
    const operation = encodeOperation({ kind: 'moving_up', queue: 'orders', subscriptionId: 's1' });
    expect(describeDeadLetter('operation', aDeadLetter(operation))).toMatchObject({
      queue: 'orders',
      subscriptionIds: ['s1'],
    });
    const notice = { queue: 'orders', messageId: 'm1', subscriptionId: 's1', reason: 'http_400', data: [1] };
    expect(describeDeadLetter('undeliverable', aDeadLetter(JSON.stringify(notice)))).toMatchObject({
      reason: 'http_400',
      messageId: 'm1',
      subscriptionIds: ['s1'],
      excerpt: '[1]',
    });
  });

  it('is on one line without control characters and bounded, for any body and attributes', () => {
    const names = fc.dictionary(fc.constantFrom('queue', 'id', 'reason', 'x'), fc.anything());
    const bodies = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 2000 }),
      names.map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.constantFrom(...REDRIVEN_QUEUES), bodies, (which, given) => {
        const { excerpt } = describeDeadLetter(which, aDeadLetter(given));
        expect(excerpt.length).toBeLessThanOrEqual(120);
        expect(excerpt).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      }),
    );
  });
});

describe('credentials in a dead letter', () => {
  const link = 'https://api.example.com/v2/confirm?token=geheim';
  const data = JSON.stringify({ queue: 'orders', confirmUrl: link, note: 'kept' });

  it.each([
    ['in a job', JSON.stringify({ message: { data: JSON.parse(data) as unknown } })],
    ['in JSON inside a string', JSON.stringify({ Message: data })],
    ['with escaped slashes', data.replaceAll('/', '\\/')],
    ['of SNS', JSON.stringify({ note: 'kept', UnsubscribeURL: link })],
  ])('are redacted: a link that confirms, %s', (_, given) => {
    const detail = detailOf('delivery', aDeadLetter(given));
    expect(JSON.stringify(detail)).not.toContain('geheim');
    expect(detail.body).toContain('***');
    expect(detail.body).toContain('kept');
  });

  it('are redacted in attributes by name and by value', () => {
    const attributes = {
      'x-api-key': text('geheim'),
      note: text('Bearer geheim'),
      reason: text('not_json'),
      picture: { type: 'Binary', bytes: Uint8Array.of(1, 2) },
    };
    expect(detailOf('ingress', aDeadLetter('{', attributes)).attributes).toEqual({
      'x-api-key': '***',
      note: '***',
      reason: 'not_json',
      picture: 'AQI=',
    });
  });
});

describe('the filter of dead letters', () => {
  const notice = (reason: string | undefined) =>
    aDeadLetter(JSON.stringify({ queue: 'orders', subscriptionId: 'sub-17', reason }));

  it.each([
    [{ queue: 'orders' }, true],
    [{ queue: 'order' }, false],
    [{ subscription: 'sub-1' }, true],
    [{ subscription: 'ub-17' }, false],
    [{ reason: 'invalid_field' }, true],
    [{ reason: 'invalid_field:data' }, true],
    [{ reason: 'invalid' }, false],
    [{ reason: 'none' }, false],
    [{ id: ['0b8d4c4e'] }, true],
    [{ id: ['1b8d4c4e', '0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10'] }, true],
    [{ id: ['b8d4c4e'] }, false],
    [{ id: ['0b8d4c4e'], queue: 'others' }, false],
  ])('%j passes: %s', (filter, passes) => {
    expect(matcherOf('undeliverable', filter)?.(notice('invalid_field:data'))).toBe(passes);
  });

  it('finds messages without a reason as none', () => {
    expect(matcherOf('undeliverable', { reason: 'none' })?.(notice(undefined))).toBe(true);
  });

  it('is absent if nothing was given', () => {
    expect(matcherOf('ingress', {})).toBeUndefined();
  });
});
