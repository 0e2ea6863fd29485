import { execFile } from 'node:child_process';
import { glob, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ConditionalCheckFailedException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { sourcePositions, toErrorLine } from '../../../shared/adapters/log/error-line.ts';
import { bundle } from '../../support/bundle.ts';

const SECRET = 'planted-secret';

const thrownBy = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

const response = { message: 'refused', $metadata: { httpStatusCode: 400, requestId: 'request-1' } };
const Item = { body: { S: SECRET } };
/** The SDK keeps the item of the response on the error. */
const refusal = new ConditionalCheckFailedException({ ...response, Item });
const cancellation = new TransactionCanceledException({ ...response, CancellationReasons: [{ Item }] });

describe('an error in the log', () => {
  it('has its name, message, code, stack and cause', () => {
    const cause = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    const line = toErrorLine(new TypeError('broken', { cause }));
    expect(line).toMatchObject({
      name: 'TypeError',
      message: 'broken',
      cause: { name: 'Error', message: 'reset', code: 'ECONNRESET' },
    });
    expect(line.stack).toMatch(/^\s+at .*error-line\.test\.ts/);
  });

  it('from AWS has the status and the id of the request', () => {
    expect(toErrorLine(refusal)).toMatchObject({
      name: 'ConditionalCheckFailedException',
      message: 'refused',
      httpStatus: 400,
      awsRequestId: 'request-1',
    });
  });

  it.each([
    ['the item that refused a write', refusal],
    ['the items that refused a transaction', cancellation],
    ['a response that caused another error', new Error('outer', { cause: refusal })],
    ['responses of several calls', new AggregateError([refusal, cancellation])],
    ['a text that is not JSON', thrownBy(() => JSON.parse(`${SECRET} {"data": 1}`))],
    ['an invalid URL', thrownBy(() => new URL(`https://[${SECRET}`))],
    ['an unreadable response', Object.assign(new Error('odd'), { $responseBodyText: SECRET })],
    ['a cause', new Error('outer', { cause: thrownBy(() => JSON.parse(SECRET)) })],
    ['one of several errors', new AggregateError([Object.assign(new Error('b'), { body: SECRET })])],
  ])('contains no processed data: %s', (_, error) => {
    expect(JSON.stringify(toErrorLine(error))).not.toContain(SECRET);
  });

  it('contains the first of several errors', () => {
    const line = toErrorLine(new AggregateError(Array.from({ length: 9 }, (_, n) => new Error(`no. ${n}`))));
    expect(line.errors?.map(({ message }) => message)).toEqual(['no. 0', 'no. 1', 'no. 2']);
  });

  it('is limited in size for any message and any depth of causes', () => {
    let error = new Error('x'.repeat(100_000));
    for (let depth = 0; depth < 100; depth += 1) error = new Error('y'.repeat(100_000), { cause: error });
    expect(JSON.stringify(toErrorLine(error)).length).toBeLessThan(20_000);
    const wide = new AggregateError(Array.from({ length: 1_000 }, () => error));
    expect(JSON.stringify(toErrorLine(wide)).length).toBeLessThan(100_000);
  });

  it('may be of a value that is not an Error, or whose fields have unexpected types', () => {
    expect(toErrorLine('just text')).toMatchObject({ name: 'Error', message: 'just text' });
    const odd = Object.assign(new Error('odd'), { code: 7, $metadata: 'none' });
    expect(toErrorLine(odd)).toMatchObject({ name: 'Error', message: 'odd' });
  });
});

const errorLine = new URL('../../../shared/adapters/log/error-line.ts', import.meta.url).pathname;

/** Its third line calls code that throws, in line 2 of a file that is loaded on demand. */
const PROGRAM = `import { toErrorLine } from '${errorLine}';
try {
  (await import('./failing.ts')).failing({});
} catch (error) {
  process.stdout.write(JSON.stringify(toErrorLine(error)));
}
`;

const FAILING = `export const failing = (order: { id?: string }): never => {
  throw new TypeError('the order has no id', { cause: order.id });
};
`;

/** A frame with its position in the bundle. */
const OF_BUNDLE = /^ {4}at Module\.\w+ \(file:.*\/part-\w+\.mjs:\d+:\d+\)$/;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'source-positions-'));
});

afterAll(() => rm(folder, { recursive: true }));

describe('the stack of a logged error', () => {
  let file: string;

  beforeAll(async () => {
    await writeFile(join(folder, 'program.ts'), PROGRAM);
    await writeFile(join(folder, 'failing.ts'), FAILING);
    file = join(folder, 'bundled', 'index.mjs');
    await bundle(pathToFileURL(join(folder, 'program.ts')), file);
  });

  const logged = async (): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    return z.object({ stack: z.string() }).parse(JSON.parse(stdout)).stack;
  };

  it('in a bundle names the file and line of the source', async () => {
    const frames = (await logged()).split('\n');
    expect(frames).toEqual([
      // Function names are the bundle's.
      expect.stringMatching(/^ {4}at Module\.\w+ \(failing\.ts:2:9\)$/),
      '    at program.ts:3:34',
    ]);
  });

  it.each([
    ['is empty', ''],
    ['ends too early', '{"version":3,'],
    ['is of another version', '{"version":4,"sources":[],"names":[],"mappings":""}'],
    ['maps nothing', '{"version":3,"sources":[],"names":[],"mappings":""}'],
    ['refers to a missing source', '{"version":3,"sources":[],"names":[],"mappings":"AAAA;AACA;AACA"}'],
    ['is not a map', '[1, 2, null]'],
    ['is missing', undefined],
  ])('has positions of the bundle if its map %s', async (_, text) => {
    for await (const map of glob(join(folder, 'bundled', '*.map')))
      await (text === undefined ? rm(map) : writeFile(map, text));
    expect((await logged()).split('\n')[0]).toMatch(OF_BUNDLE);
  });
});

describe('source positions', () => {
  /** A folder with a bundle: its URL, the URL of its file, and the path of its source map. */
  const place = async () => {
    const path = await mkdtemp(join(folder, 'bundle-'));
    const url = `${pathToFileURL(path).href}/`;
    return { folder: url, file: `${url}index.mjs`, map: join(path, 'index.mjs.map') };
  };

  /** Columns 1 and 5 of line 1 map to lines 1 and 2 of `a.ts`, and line 3 to line 3. Line 2 has no mappings. */
  const MAP = JSON.stringify({
    version: 3,
    sources: ['../../a.ts'],
    names: [],
    mappings: 'AAAA,IACA;;AACA',
  });

  it('are those of the mapping before the frame, and none on a line without mappings', async () => {
    const { folder: bundled, file, map } = await place();
    await writeFile(map, MAP);
    const inSources = sourcePositions(bundled);
    expect(inSources(`    at f (${file}:1:1)\n    at async g (${file}:1:9)\n    at ${file}:3:1`)).toBe(
      '    at f (a.ts:1:1)\n    at async g (a.ts:2:1)\n    at a.ts:3:1',
    );
    expect(inSources(`    at ${file}:2:7`)).toBe(`    at ${file}:2:7`);
  });

  it('are read at the first fault, once', async () => {
    const { folder: bundled, file, map } = await place();
    const inSources = sourcePositions(bundled);
    const ofNode = '    at node:internal/modules/run_main:1:1';
    expect(inSources(ofNode)).toBe(ofNode);
    await writeFile(map, MAP);
    expect(inSources(`    at ${file}:1:1`)).toBe('    at a.ts:1:1');
    await rm(map);
    expect(inSources(`    at ${file}:3:1`)).toBe('    at a.ts:3:1');
  });

  it.each([
    ['in another folder', (_: string, other: string) => `${other}index.mjs`],
    ['in a folder of the bundle', (own: string) => `${own}sub/index.mjs`],
    ['in the folder above', (own: string) => `${own}../index.mjs`],
    ['of another kind', (own: string) => `${own}index.js`],
  ])('are used for files of the bundle only, not for one %s', async (_, fileOf) => {
    const [own, other] = [await place(), await place()];
    const file = fileOf(own.folder, other.folder);
    await mkdir(new URL('.', file), { recursive: true });
    await writeFile(new URL(`${file}.map`), MAP);
    const frame = `    at f (${file}:1:1)`;
    expect(sourcePositions(own.folder)(frame)).toBe(frame);
  });

  it('never throw for any map and frames', async () => {
    const frames = fc.stringMatching(/^[0-9:;\n ()a-z]{0,40}$/);
    const mappings = fc.oneof(fc.string(), fc.stringMatching(/^[A-Za-z0-9+/;,]{0,60}$/));
    const sources = fc.array(fc.string(), { maxLength: 2 });
    const map3 = fc.record({ version: fc.constant(3), sources, names: fc.constant([]), mappings });
    const maps = fc.oneof(
      fc.json(),
      map3.map((map) => JSON.stringify(map)),
    );
    const { folder: bundled, file, map } = await place();
    await fc.assert(
      fc.asyncProperty(maps, frames, async (content, text) => {
        await writeFile(map, content);
        const stack = `    at f (${file}:1:1)\n${file}:${text}`;
        expect(sourcePositions(bundled)(stack)).toContain('    at f (');
      }),
    );
  });
});
