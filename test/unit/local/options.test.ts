import { describe, expect, it } from 'vitest';
import { alreadyRunningText, foreignFolderText } from '../../../local/launch.mjs';
import { parseCommandLine, startOptions } from '../../../local/options.mjs';

const parsed = (line: string) => parseCommandLine(line.split(' ').filter(Boolean));

describe('the command line of npm start', () => {
  it.each([
    ['', { once: false, demo: true, context: {} }],
    ['--once --no-demo --port 4566', { once: true, demo: false, port: 4566, context: {} }],
    ['--worker', { once: false, demo: true, worker: true, context: { compute: 'worker' } }],
  ])('runs the demo and keeps running, unless it says otherwise: %j', (line, options) => {
    expect(parsed(line)).toEqual({ kind: 'start', options });
  });

  it.each([
    ['--worker -c compute=both', { compute: 'both' }],
    ['-c defaultRetryPolicy={"a":"b=c"}', { defaultRetryPolicy: '{"a":"b=c"}' }],
    ['--context retentionDays=20 -c retentionDays=30', { retentionDays: '30' }],
    ['-c apiAuthorization=iam --no-demo', { apiAuthorization: 'iam' }],
    // The validation of the settings refuses it.
    ['-c apiAuthorization=lan', { apiAuthorization: 'lan' }],
  ])('splits settings at the first equals sign, and the last value of a key wins: %s', (line, context) => {
    expect(parsed(line)).toHaveProperty('options.context', context);
  });

  it.each([
    ['an unknown option', '--onec', /--onec/],
    ['an unknown argument', 'now', /now/],
    ['port 0', '--port=0', /--port/],
    ['a port above all', '--port=65536', /--port/],
    ['a port that is a name', '--port=http', /--port/],
    ['a port that is no whole number', '--port=1.5', /--port/],
    ['an empty port', '--port=', /--port/],
    ['a setting without a value', '-c retentionDays', /retentionDays/],
    ['a setting without a key', '-c =20', /=20/],
    ['a change of the setting "local"', '-c local=false', /local/],
    ['a demo whose calls are unsigned', '-c apiAuthorization=iam --once', /apiAuthorization=iam.*--no-demo/],
    ['a demo without a token', '-c apiAuthorization=jwt --once', /apiAuthorization=jwt.*--no-demo/],
    ['the option of an installed start', '--app app.mjs', /--app/],
  ])('refuses %s, and names it', (_, line, message) => {
    const refused = { kind: 'wrong', message: expect.stringMatching(message) as unknown };
    expect(parsed(line)).toMatchObject(refused);
  });

  it('has no demo with an app of the user, also if its API requires signatures', () => {
    const context = ['apiAuthorization=iam'];
    expect(startOptions({ once: true, demo: true, context, app: 'node app.mjs' })).toEqual({
      once: true,
      demo: false,
      context: { apiAuthorization: 'iam' },
      app: 'node app.mjs',
    });
  });

  it('shows the help, even with other options', () => {
    expect(parsed('--once --help')).toEqual({ kind: 'help' });
  });
});

it('a second start says where the running system is, or to wait for one without endpoints yet', () => {
  const holder = { pid: 4711, since: '2026-01-01T00:00:00.000Z' };
  const [running, starting] = [alreadyRunningText(holder, true), alreadyRunningText(holder, false)];
  expect(running).toMatch(/already running .* \(process 4711, .*\.local\/endpoints\.json/);
  expect(starting).toMatch(/is starting .*4711, .*Wait for it/s);
  expect(starting).not.toContain('endpoints.json');
});

describe('the folder of a start', () => {
  it.each([
    ['the user', { owner: 1000, parent: 0, user: 1000 }],
    ['root', { owner: 0, parent: 1000, user: 1000 }],
    ['the owner of the folder around it, as in a container', { owner: 1000, parent: 1000, user: 0 }],
    ['anyone, where users have no id', { owner: 0, parent: 0, user: undefined }],
  ])('may belong to %s', (_who, ids) => {
    expect(foreignFolderText(ids)).toBeUndefined();
  });

  it('must not belong to another user, who made it first and whose code would run', () => {
    expect(foreignFolderText({ owner: 1001, parent: 0, user: 1000 })).toMatch(
      /belongs to another user \(1001\)/,
    );
  });
});
