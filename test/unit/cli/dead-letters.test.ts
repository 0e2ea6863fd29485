import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeDeadLetter, toDeadLetterDetail } from '../../../cli/dead-letters/describe.ts';
import { createMatcher } from '../../../cli/dead-letters/look.ts';
import type { DeadLetter, DeadLetterAttributes } from '../../../shared/domain/delivery/dead-letter.ts';
import { REDRIVEN_QUEUES } from '../../../shared/domain/work-queues.ts';
import { encodeFirstJob } from '../../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation } from '../../../shared/wire/jobs/operation.ts';
import { deadLetterDetailSchema, deadLetterViewSchema } from '../../../shared/wire/views/console.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { aMessage } from '../../support/builders.ts';
import { answering, ctrlC, type RunOptions } from './run-command.ts';
import { FORBIDDEN, json, NOT_FOUND } from './stub-api.ts';
import { stubbedDeployment } from './stubbed-deployment.ts';
import { subscription } from './undeliverable-deployment.ts';

const BODIES = [
  '{"queue":"orders","id":"m1","data":1}',
  '{"queue":"orders","id":"m2","data":2}',
  'gar\u001bbage',
] as const;

/** A deployment with three dead letters. */
const deployed = (options: Parameters<typeof stubbedDeployment>[0] = {}) =>
  stubbedDeployment({
    bodies: BODIES,
    attributes: {
      [BODIES[0]]: { reason: 'unknown_queue' },
      [BODIES[2]]: { reason: 'not_json', 'x-api-key': 'geheim' },
    },
    ...options,
  });

const NOTICE = '{"queue":"orders","messageId":"m1","subscriptionId":"s1","attempts":[]}';

describe('posthaste deadletters list', () => {
  it('prints one dead letter per line with its reason, changes nothing and releases all', async () => {
    const { run, deadLetters, held, sent } = await deployed();
    const { status, lines, stderr } = await run('deadletters list ingress --json');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const listed = lines.map((line) => deadLetterViewSchema.parse(line));
    expect(listed).toMatchObject([
      { id: 'letter-0', reason: 'unknown_queue', queue: 'orders', messageId: 'm1', receives: 3 },
      { id: 'letter-1', queue: 'orders', messageId: 'm2' },
      { id: 'letter-2', reason: 'not_json', excerpt: 'gar\\u001bbage' },
    ]);
    expect(listed[1]?.reason).toBeUndefined();
    expect({ left: deadLetters.size, held: held.size, sent }).toEqual({ left: 3, held: 0, sent: [] });
  });

  it('prints a table, in which a message that SQS moved has the reason none', async () => {
    // The age is exact to the second, however slow the machine is.
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { stdout } = await (await deployed()).run('deadletters list ingress');
    const [head, first, second] = stdout.split('\n');
    expect(head).toMatch(/^Of +Id +Age +Reason +Queue +Message +Subscription +State +Received +Excerpt$/);
    expect(first).toMatch(/^ingress +letter-0 +1 h +unknown_queue +orders +m1 +3 +\{"queue"/);
    expect(second).toMatch(/^ingress +letter-1 +1 h +none +orders +m2/);
  });

  it('says how many it does not show', async () => {
    const { run, held } = await deployed();
    const { status, lines, stderr } = await run('deadletters list ingress --limit 2 --json');
    expect({ status, count: lines.length, held: held.size }).toEqual({ status: 0, count: 2, held: 0 });
    expect(stderr).toBe('ingress: showing 2 of about 3 messages; for more, use --limit.\n');
  });

  it('says with status 1 that another look hides messages', async () => {
    const { run, held } = await deployed();
    held.add('letter-1');
    expect(await run('deadletters list ingress --reason none')).toEqual({
      status: 1,
      stdout: 'No matching dead letter is visible.\n',
      stderr: expect.stringMatching(
        /^ingress: About 1 message is hidden by another look until \d\d:\d\d:\d\d at the latest; repeat then\.\n$/,
      ) as unknown,
    });
  });

  it('says that a delivery is not on record, and why its state could not be read', async () => {
    const subscribed = (request: string) =>
      request.endsWith('/subscriptions/s1') ? json(subscription) : NOT_FOUND;
    const { run } = await deployed({ bodies: [NOTICE], onApi: subscribed });
    expect((await run('deadletters list undeliverable --json')).lines).toMatchObject([
      { state: 'not_on_record' },
    ]);
    const denied = await deployed({ bodies: [NOTICE], onApi: () => FORBIDDEN });
    const { status, stdout, stderr } = await denied.run('deadletters list undeliverable');
    expect(status).toBe(0);
    expect(stdout).toContain('m1');
    expect(stderr).toContain('undeliverable: what became of the deliveries could not be read: Forbidden');
  });

  it('releases what it holds on Ctrl-C, and exits with status 130', async () => {
    const { pressing, options } = ctrlC();
    const { run, held } = await deployed({ bodies: [NOTICE], onApi: pressing(NOT_FOUND) });
    const { status } = await run('deadletters list undeliverable --json', options);
    expect({ status, held: held.size }).toEqual({ status: 130, held: 0 });
  });
});

describe('posthaste deadletters show', () => {
  it('prints the whole body and the attributes, without credentials and control characters', async () => {
    const { run, held } = await deployed();
    const { status, stdout } = await run('deadletters show ingress letter-2');
    expect({ status, held: held.size }).toEqual({ status: 0, held: 0 });
    expect(stdout).toContain('Attribute x-api-key  ***');
    expect(stdout).toMatch(/\n\ngar\\u001bbage\n$/);
    const { lines } = await run('deadletters show ingress letter-0 --json');
    expect(deadLetterDetailSchema.parse(lines[0])).toMatchObject({ body: BODIES[0] });
  });

  it.each([
    ['nowhere', /: None of the dead letters of the ingress queue has an id that starts with nowhere\.\n$/],
    ['letter', /: Several dead letters of the ingress queue .* such as letter-0 and letter-1\./],
  ])('says that an id has no dead letter, or several: %s', async (id, sentence) => {
    const { status, stderr } = await (await deployed()).run(`deadletters show ingress ${id}`);
    expect(status).toBe(1);
    expect(stderr).toMatch(sentence);
  });
});

describe('posthaste deadletters delete', () => {
  const OF = 'the dead letters of the ingress queue in Posthaste';

  it('deletes the wanted ones after a yes, which names their number', async () => {
    const { run, deadLetters } = await deployed();
    const { status, stdout, stderr } = await run('deadletters delete ingress --queue orders', answering('y'));
    expect(stderr).toContain(`Delete 2 messages from ${OF}?`);
    expect(status).toBe(0);
    expect(stdout).toBe(
      'Dead letters of the ingress queue in Posthaste: 2 deleted, 0 skipped, about 1 left.\n',
    );
    expect([...deadLetters.keys()]).toEqual(['letter-2']);
  });

  it.each<[string, RunOptions, string, number]>([
    ['after a no', answering('n'), 'Nothing was deleted.', 1],
    ['without a terminal to ask', {}, `error: to delete 3 messages from ${OF}, add --yes`, 2],
  ])('deletes nothing %s', async (_, options, said, expected) => {
    const { run, deadLetters, held } = await deployed();
    const { status, stderr } = await run('deadletters delete ingress --all', options);
    expect(stderr).toContain(said);
    expect({ status, left: deadLetters.size, held: held.size }).toEqual({
      ...{ status: expected, left: 3, held: 0 },
    });
  });

  it('only counts with --dry-run', async () => {
    const { run, deadLetters } = await deployed();
    expect((await run('deadletters delete ingress --reason not_json --dry-run')).stdout).toBe(
      'Dead letters of the ingress queue in Posthaste: 1 would be deleted, 0 skipped, 2 left. Nothing was changed.\n',
    );
    expect(deadLetters.size).toBe(3);
  });

  it('reports chosen messages that are not there', async () => {
    const { run, deadLetters } = await deployed();
    const { status, lines } = await run(`deadletters delete ingress --id ${DEAD_LETTER_ID} --yes --json`);
    expect({ status, lines, left: deadLetters.size }).toMatchObject({
      ...{ status: 1, left: 3 },
      lines: [{ which: 'ingress', deleted: 0, missing: 1, hidden: 0 }],
    });
  });
});

const DEAD_LETTER_ID = '0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10';

const text = (value: string) => ({ type: 'String', text: value });

const aDeadLetter = (body: string, attributes: DeadLetterAttributes = {}): DeadLetter => ({
  id: DEAD_LETTER_ID,
  sentAt: Date.UTC(2026, 0, 1),
  receipt: 'r',
  body,
  attributes,
  receives: 51,
});

describe('a dead letter as it is shown', () => {
  const sent = '{"queue":"orders","id":"m1","data":{"total":1}}';
  const key = { queue: 'orders', messageId: 'm1', bucket: 0 };
  const message = aMessage({ queue: 'orders', id: 'm1', data: '{"total":1}' });
  const first = { acceptedAt: 1, body: { kind: 'inline', message } } as const;
  const job = { kind: 'job', key: { ...key, subscriptionId: 's1' }, attempt: 1, ...first } as const;
  const chunk = {
    kind: 'chunk',
    key: { ...key, chunk: 0 },
    subscriptionIds: ['s1', 's2'],
    ...first,
  } as const;
  const operation = { kind: 'moving_up', queue: 'orders', subscriptionId: 's1' } as const;
  const notice = '{"queue":"orders","messageId":"m1","subscriptionId":"s1","reason":"http_400","data":[1]}';
  const ofJob = { queue: 'orders', messageId: 'm1', excerpt: '{"total":1}' };
  const ofNotice = { messageId: 'm1', subscriptionIds: ['s1'], reason: 'http_400', excerpt: '[1]' };

  it('names the queue, the message and the reason of what a producer sent', () => {
    expect(describeDeadLetter('ingress', aDeadLetter(sent, { reason: text('unknown_queue') }))).toEqual({
      which: 'ingress',
      id: DEAD_LETTER_ID,
      sentAt: '2026-01-01T00:00:00.000Z',
      receives: 51,
      reason: 'unknown_queue',
      queue: 'orders',
      messageId: 'm1',
      subscriptionIds: [],
      bytes: 47,
      excerpt: sent,
    });
  });

  it('shows the message id that a redrive keeps', () => {
    const attributes = { 'posthaste-id': text('first'), queue: text('orders') };
    const shown = describeDeadLetter('ingress', aDeadLetter('{"a":1}', attributes));
    expect(shown).toMatchObject({ queue: 'orders', messageId: 'first' });
  });

  it.each([
    ['ingress', 'a message', '{"queue":"orders","id":"m1"}', { queue: 'orders', messageId: 'm1' }],
    ['delivery', 'a job', encodeFirstJob(job), { ...ofJob, subscriptionIds: ['s1'] }],
    ['delivery', 'a chunk', encodeFirstJob(chunk), { ...ofJob, subscriptionIds: ['s1', 's2'] }],
    ['operation', 'an operation', encodeOperation(operation), { queue: 'orders', subscriptionIds: ['s1'] }],
    ['undeliverable', 'a notice', notice, ofNotice],
  ] as const)('of the %s queue shows what is known of %s', (which, _, given, shown) => {
    expect(describeDeadLetter(which, aDeadLetter(given))).toMatchObject(shown);
  });

  it('is on one line without control characters and bounded, for any body and attributes', () => {
    const names = fc.dictionary(fc.constantFrom('queue', 'id', 'reason', 'x'), fc.anything());
    const bodies = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 2000 }),
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
    const detail = toDeadLetterDetail('delivery', aDeadLetter(given));
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
    expect(toDeadLetterDetail('ingress', aDeadLetter('{', attributes)).attributes).toEqual({
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
    [{ id: ['1b8d4c4e', DEAD_LETTER_ID] }, true],
    [{ id: ['b8d4c4e'] }, false],
    [{ id: ['0b8d4c4e'], queue: 'others' }, false],
  ])('%j passes: %s', (filter, passes) => {
    expect(createMatcher('undeliverable', filter)?.(notice('invalid_field:data'))).toBe(passes);
  });

  it('finds messages without a reason as none', () => {
    expect(createMatcher('undeliverable', { reason: 'none' })?.(notice(undefined))).toBe(true);
  });

  it('is absent if nothing was given', () => {
    expect(createMatcher('ingress', {})).toBeUndefined();
  });
});
