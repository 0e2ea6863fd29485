import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import type { StubRequest } from '../../support/aws-stub.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { answering } from './run-command.ts';
import { json, NO_CONTENT, NOT_FOUND, refusal, runOn, stubApi, type StubRoutes } from './stub-api.ts';

const TYPE = '/v2/event-types/';
const AT = '2026-11-21T12:00:00.000Z';
const body = z.record(z.string(), z.unknown());

/** An API with a catalogue, by name, and a function that runs the command against it. */
const withCatalogue = async (types: Record<string, object>, more: StubRoutes = {}) => {
  const stored = new Map(Object.entries(types));
  const view = (name: string) => ({ name, ...stored.get(name), created_at: AT, changed_at: AT });
  const put = ({ path: to, body: text }: StubRequest) => {
    const name = to.slice(TYPE.length);
    const status = stored.has(name) ? 200 : 201;
    stored.set(name, body.parse(JSON.parse(text)));
    return json(view(name), status);
  };
  const remove = ({ path: to }: StubRequest) => {
    stored.delete(to.slice(TYPE.length));
    return NO_CONTENT;
  };
  const names = ['order.created', 'order.closed', 'order.lost'];
  const routes: StubRoutes = {
    'GET /v2/event-types': () => json({ event_types: [...stored.keys()].sort().map(view), links: [] }),
    ...Object.fromEntries(
      names.flatMap((name) => [
        [`GET ${TYPE}${name}`, () => (stored.has(name) ? json(view(name)) : NOT_FOUND)],
        [`PUT ${TYPE}${name}`, put],
        [`DELETE ${TYPE}${name}`, remove],
      ]),
    ),
    ...more,
  };
  const { run, requests } = await stubApi(routes);
  const changes = () =>
    requests.filter(({ method }) => method !== 'GET').map(({ method, path: to }) => `${method} ${to}`);
  return { run, stored, changes };
};

let folder: string;
beforeEach(() => (folder = temporaryFolder()));

const write = (files: Record<string, unknown>): void => {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
};

const CREATED = { description: 'New', schema: { type: 'object', properties: { total: { type: 'number' } } } };

const CREATED_YAML = `
# A comment, and other names of the same values.
schema:
  properties: { total: { type: number } }
  type: object
description: New
deprecated: false
`;

describe('posthaste event-types apply', () => {
  const apply = (...options: string[]) => ['event-types', 'apply', folder, ...options];

  it('stores the types of JSON and YAML files, also in folders, and says that a second run changes nothing', async () => {
    write({
      'order.created.yaml': CREATED_YAML,
      'orders/closed.json': { name: 'order.closed', queues: ['orders'], example: { total: 1 } },
      'README.md': '# Event types',
      '.hidden/order.lost.json': {},
    });
    const { run, stored, changes } = await withCatalogue({});
    const first = await run(apply('--yes'));
    expect(first).toMatchObject({ status: 0 });
    expect(first.stdout).toContain('--- /dev/null\n+++ b/order.created\n@@ -0,0 +1,');
    expect(first.stdout).toContain('\nEvent types: 2 created, 0 replaced, 0 deleted, 0 unchanged.\n');
    expect(Object.fromEntries(stored)).toEqual({
      'order.created': { ...CREATED, deprecated: false },
      'order.closed': { queues: ['orders'], example: { total: 1 } },
    });
    const second = await run(apply());
    expect(second).toMatchObject({
      status: 0,
      stdout: 'Nothing changes: 2 event types are as in the folder.\n',
    });
    expect(changes()).toHaveLength(2);
  });

  it('shows the difference of each type, asks, and deletes with --prune what the folder lacks', async () => {
    write({ 'order.created.json': { ...CREATED, description: 'Newer' } });
    const { run, stored, changes } = await withCatalogue({ 'order.created': CREATED, 'order.lost': {} });
    const refused = await run(apply('--prune'), answering('n'));
    expect(refused).toMatchObject({ status: 1 });
    expect(refused.stdout).toContain('-  "description": "New",\n+  "description": "Newer",\n');
    expect(refused.stdout).toContain('--- a/order.lost\n+++ /dev/null\n');
    expect(refused.stderr).toContain(
      'Event types: 0 to create, 1 to replace, 1 to delete. Change the catalogue?',
    );
    expect(changes()).toEqual([]);
    const applied = await run(apply('--prune'), answering('y'));
    expect(applied.stdout).toContain('Event types: 0 created, 1 replaced, 1 deleted, 0 unchanged.\n');
    expect([...stored]).toEqual([['order.created', { ...CREATED, description: 'Newer' }]]);
  });

  it('keeps types that the folder lacks without --prune, and says so', async () => {
    write({ 'order.created.json': CREATED });
    const { run } = await withCatalogue({ 'order.created': CREATED, 'order.lost': {} });
    expect((await run(apply('--yes'))).stdout).toBe(
      'Nothing changes: 1 event type is as in the folder.\nThe folder lacks 1 event type, which --prune deletes.\n',
    );
    expect((await run(apply('--yes', '--json'))).lines).toEqual([
      { created: [], replaced: [], deleted: [], kept: ['order.lost'], unchanged: 1 },
    ]);
  });

  it('changes nothing in a dry run, and without an answer', async () => {
    write({ 'order.created.json': CREATED });
    const { run, changes } = await withCatalogue({ 'order.lost': {} });
    const dry = await run(apply('--dry-run', '--prune', '--json'));
    expect(dry).toMatchObject({ status: 0, stderr: '' });
    expect(dry.lines).toMatchObject([{ created: ['order.created'], deleted: ['order.lost'], dryRun: true }]);
    const { stdout } = await run(apply('--dry-run'));
    expect(stdout).toContain('Event types: 1 to create, 0 to replace, 0 to delete, 0 unchanged.\n');
    const unanswered = await run(apply());
    expect(unanswered).toMatchObject({ status: 2 });
    expect(unanswered.stderr).toContain('to change the catalogue, add --yes');
    expect(changes()).toEqual([]);
  });

  it('deletes nothing if the API refuses a type', async () => {
    write({ 'order.created.json': CREATED, 'order.closed.json': {} });
    const { run, changes } = await withCatalogue(
      { 'order.lost': {} },
      { [`PUT ${TYPE}order.closed`]: refusal(400, 'invalid_request', 'schema is no schema') },
    );
    const { status, stderr } = await run(apply('--prune', '--yes'));
    expect(status).toBe(1);
    expect(stderr).toContain('PUT /v2/event-types/order.closed was refused (400 invalid_request):');
    expect(changes()).toEqual(expect.not.arrayContaining([expect.stringContaining('DELETE')]));
  });

  it('escapes what a terminal would act on', async () => {
    write({ 'order.created.json': { description: 'a\u001b[2J\u202eb' } });
    const { run } = await withCatalogue({});
    expect((await run(apply('--dry-run'))).stdout).not.toMatch(/[\u001b\u202e]/);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['no file', { 'README.md': '' }, 'There is no JSON or YAML file in '],
    ['a file that is not JSON', { 'a.json': '{' }, 'a.json: '],
    ['a file that is not YAML', { 'a.yaml': 'a: b: c' }, 'a.yaml: Nested mappings'],
    ['a file that is over 256 KiB', { 'a.json': `"${'a'.repeat(262_144)}"` }, 'a.json is larger than'],
    ['YAML that multiplies', { 'a.yml': bomb() }, 'a.yml: Excessive alias count'],
    ['a field that there is not', { 'a.json': { sample: 1 } }, 'a.json: sample: is not a known field.'],
    ['a value that JSON does not have', { 'a.yaml': 'example: [.nan]' }, 'a.yaml: it has a value that'],
    [
      'a date of YAML 1.1',
      { 'a.yaml': '%YAML 1.1\n---\nexample: 2026-11-21' },
      'a.yaml: it has a value that',
    ],
    [
      'a description that is too long',
      { 'a.json': { description: 'a'.repeat(1_001) } },
      'a.json: description: ',
    ],
    ['a schema that is none', { 'a.json': { schema: { pattern: '(' } } }, 'a.json: schema.pattern'],
    [
      'an example that does not fit',
      { 'a.yaml': 'schema: { type: object }\nexample: 1' },
      'a.yaml: example: ',
    ],
    ['a list', { 'a.json': [] }, 'a.json: it is not an object.'],
    ['a name that is none', { 'a b.json': {} }, 'a b.json: the name of an event type is at most 128'],
    ['two types of a name', { 'a.json': {}, 'b.yaml': 'name: a' }, 'b.yaml: another file defines a as well.'],
  ])('refuses a folder with %s before any request', async (_, files, message) => {
    write(files);
    const { run, changes } = await withCatalogue({ 'order.lost': {} });
    const { status, stdout, stderr } = await run(apply('--prune', '--yes'));
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(changes()).toEqual([]);
  });

  it('says of all faulty files what is wrong with them, and changes nothing', async () => {
    write({
      'a.json': '{',
      'b.yaml': 'sample: 1',
      'c\u202e.json': [],
      'order.created.json': CREATED,
      'orders/created.json': { name: 'order.created' },
    });
    const { run, changes } = await withCatalogue({ 'order.lost': {} });
    const { status, stderr } = await run(apply('--prune', '--yes'));
    expect(status).toBe(1);
    expect(stderr.replaceAll(`${folder}/`, '').split('\n')).toEqual([
      'posthaste: Nothing was changed, because 4 files are faulty:',
      expect.stringMatching(/^ {2}a.json: .*JSON/),
      '  b.yaml: sample: is not a known field.',
      '  c\\u202e.json: it is not an object.',
      '  orders/created.json: another file defines order.created as well.',
      '',
    ]);
    expect(JSON.parse((await run(apply('--json'))).stderr)).toMatchObject({
      error: { errors: Array.from({ length: 4 }, () => expect.any(String) as unknown) },
    });
    expect(changes()).toEqual([]);
  });

  it('names the folder that it cannot read', async () => {
    const { stderr } = await runOn({}, ['event-types', 'apply', path.join(folder, 'none'), '--yes']);
    expect(stderr).toMatch(/none cannot be read: /);
  });
});

/** Aliases of aliases, each ten times. */
function bomb(): string {
  const lines = Array.from({ length: 9 }, (_, at) => {
    const items = at === 0 ? 'x' : `*a${at - 1}`;
    return `a${at}: &a${at} [${Array.from({ length: 10 }, () => items).join(', ')}]`;
  });
  return `example:\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

describe('posthaste event-types', () => {
  const TYPES = {
    'order.created': { ...CREATED, group: 'orders' },
    'order.closed': { deprecated: true, description: 'Old\u001b\nand more' },
  };

  it('lists the catalogue, and shows a type', async () => {
    const { run } = await withCatalogue(TYPES);
    expect((await run('event-types list')).stdout).toBe(
      'Event type     Group   State       Schema  Description\n' +
        'order.closed           deprecated          Old\\u001b\n' +
        'order.created  orders              yes     New\n',
    );
    const { lines } = await run('event-types show order.created --json');
    expect(lines).toMatchObject([{ name: 'order.created', ...CREATED }]);
    expect(await run('event-types show order.lost')).toMatchObject({ status: 1 });
  });

  it('says how to fill an empty catalogue', async () => {
    const { run } = await withCatalogue({});
    expect((await run('event-types list')).stdout).toMatch(
      /^No event type yet\. .*event-types apply <folder>\n$/,
    );
  });

  it('deletes a type after a question', async () => {
    const { run, stored, changes } = await withCatalogue(TYPES);
    expect(await run('event-types delete order.closed')).toMatchObject({ status: 2 });
    expect(await run('event-types delete order.closed', answering('n'))).toMatchObject({ status: 1 });
    expect(await run('event-types delete order.lost --yes')).toMatchObject({ status: 1 });
    expect(changes()).toEqual([]);
    const { stdout } = await run('event-types delete order.closed', answering('y'));
    expect(stdout).toBe('Deleted the event type order.closed.\n');
    expect([...stored.keys()]).toEqual(['order.created']);
  });

  it('writes the OpenAPI document and the TypeScript types, on stdout or into a file', async () => {
    const { run } = await withCatalogue(TYPES);
    const { stdout } = await run('event-types export');
    expect(JSON.parse(stdout)).toHaveProperty('webhooks', {
      'order.closed': expect.anything() as unknown,
      'order.created': expect.anything() as unknown,
    });
    const file = path.join(folder, 'event-types.ts');
    for (const option of ['--output', '--out'])
      expect(await run(['event-types', 'types', option, file])).toMatchObject({
        stdout: `Wrote ${file}.\n`,
      });
    expect(readFileSync(file, 'utf8')).toBe((await run('event-types types')).stdout);
    expect(readFileSync(file, 'utf8')).toContain('"total"?: number;');
    const { status, stderr } = await run(['event-types', 'export', '--output', folder]);
    expect(status).toBe(1);
    expect(stderr).toContain(`${folder} cannot be written: `);
  });
});

describe('event types in other commands', () => {
  const EXAMPLE = 'GET /v2/queues/orders/event-types/order.created';
  const POST = 'POST /v2/queues/orders/messages';
  const posted = json({ ids: ['o-1'] }, 201);

  it('publishes the example of a type that the queue may see', async () => {
    const type = { name: 'order.created', example: { total: 1 }, created_at: AT, changed_at: AT };
    const routes = { [EXAMPLE]: json(type), [POST]: posted };
    const { status, requests } = await runOn(routes, 'publish orders --example order.created --id o-1');
    expect(status).toBe(0);
    expect(requests.at(-1)?.body).toBe(
      '{"messages":[{"id":"o-1","type":"order.created","body":{"total":1}}]}',
    );
    const none = await runOn(
      { [EXAMPLE]: json({ ...type, example: undefined }) },
      'publish orders --example order.created',
    );
    expect(none).toMatchObject({ status: 1 });
    expect(none.stderr).toContain('The event type order.created has no example.');
  });

  it('publishes an example to a new queue, which sees nothing yet', async () => {
    const { run } = await withCatalogue(
      { 'order.created': { example: null } },
      { 'GET /v2/queues/orders': NOT_FOUND, [POST]: posted },
    );
    expect(await run('publish orders --create --example order.created')).toMatchObject({ status: 0 });
  });

  it('prints the warning about an event type that the catalogue lacks', async () => {
    const warnings = [{ field: 'options.event_types[0]', message: 'is not in the catalogue\u202e' }];
    const routes = {
      'POST /v2/queues/orders/subscriptions': json({ subscription_id: 's-1', warnings }, 201),
    };
    const line = 'subscription create orders https://example.com --event-type order.creatd';
    const { status, stderr } = await runOn(routes, line);
    expect(status).toBe(0);
    expect(stderr).toContain('Warning: options.event_types[0] is not in the catalogue\\u202e.\n');
    const { lines, stderr: none } = await runOn(routes, `${line} --json`);
    expect({ lines, none }).toEqual({ lines: [{ subscription_id: 's-1', warnings }], none: '' });
  });

  it.each([
    ['subscription create orders https://example.com --event-type'],
    ['subscription update --json orders s-1 --event-type'],
    ['subscription test orders s-1 --type'],
    ['publish orders --example'],
    ['publish orders --type'],
  ])('offers the event types of the queue after %s', async (line) => {
    const event_types = ['order.created', 'order.closed'].map((name) => ({
      name,
      created_at: AT,
      changed_at: AT,
    }));
    const routes = { 'GET /v2/queues/orders/event-types': json({ event_types, links: [] }) };
    // The library prints by itself.
    const printed = vi.spyOn(console, 'log').mockReturnValue(undefined);
    const { requests } = await runOn(routes, ['complete', '--', ...line.split(' '), 'order.cr']);
    expect(printed.mock.calls.flat()).toContain('order.created\t');
    expect(printed.mock.calls.flat()).not.toContain('order.closed\t');
    expect(requests.map(({ path: to }) => to)).toEqual([
      '/v2/queues/orders/event-types?detailed=false&limit=100',
    ]);
    printed.mockRestore();
  });

  it.each([
    'publish orders --exam',
    'subscription rotate-secret orders s-1 --type v',
    'publish none --type o',
  ])('offers none, and fails in silence, after %s', async (line) => {
    const printed = vi.spyOn(console, 'log').mockReturnValue(undefined);
    const { status, stderr } = await runOn({}, ['complete', '--', ...line.split(' ')]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    printed.mockRestore();
  });
});
