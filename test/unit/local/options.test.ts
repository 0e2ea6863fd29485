import { describe, expect, it } from 'vitest';
import { alreadyRunningText, foreignFolderText } from '../../../local/launch.mjs';
import { parseCommandLine, startOptions } from '../../../local/options.mjs';

const optionsOf = (...args: string[]) => {
  const command = parseCommandLine(args);
  if (command.kind !== 'start') throw new Error(`not a start: ${JSON.stringify(command)}`);
  return command.options;
};

const refusalOf = (...args: string[]) => {
  const command = parseCommandLine(args);
  if (command.kind !== 'wrong') throw new Error(`not refused: ${JSON.stringify(command)}`);
  return command.message;
};

describe('the command line of npm start', () => {
  it('runs the demo and keeps running by default', () => {
    expect(optionsOf()).toEqual({ once: false, demo: true, context: {} });
  });

  it('takes --once, --no-demo and --port', () => {
    expect(optionsOf('--once', '--no-demo', '--port', '4566')).toEqual({
      once: true,
      demo: false,
      port: 4566,
      context: {},
    });
  });

  it('takes --worker, with which SQS does not invoke the functions, unless a setting says otherwise', () => {
    expect(optionsOf('--worker')).toEqual({
      once: false,
      demo: true,
      worker: true,
      context: { compute: 'worker' },
    });
    expect(optionsOf('--worker', '-c', 'compute=both').context).toEqual({ compute: 'both' });
  });

  it('splits settings at the first equals sign, and the last value of a key wins', () => {
    expect(
      optionsOf(
        '-c',
        'defaultRetryPolicy={"a":"b=c"}',
        '--context',
        'retentionDays=20',
        '-c',
        'retentionDays=30',
      ).context,
    ).toEqual({ defaultRetryPolicy: '{"a":"b=c"}', retentionDays: '30' });
  });

  it('refuses an unknown option or argument, and names it', () => {
    expect(refusalOf('--onec')).toContain('--onec');
    expect(refusalOf('now')).toContain('now');
  });

  it.each(['0', '65536', 'http', '1.5', ''])('refuses the port "%s"', (port) => {
    expect(refusalOf(`--port=${port}`)).toContain('--port');
  });

  it.each(['retentionDays', '=20'])('refuses the setting "%s", which has no key and value', (setting) => {
    expect(refusalOf('-c', setting)).toContain(setting);
  });

  it('refuses to change the setting "local"', () => {
    expect(refusalOf('-c', 'local=false')).toContain('local');
  });

  it.each(['iam', 'jwt'])(
    'refuses a demo with apiAuthorization %s, because its calls are unsigned',
    (kind) => {
      expect(refusalOf('-c', `apiAuthorization=${kind}`, '--once')).toMatch(
        new RegExp(`apiAuthorization=${kind}.*--no-demo`),
      );
      expect(optionsOf('-c', `apiAuthorization=${kind}`, '--no-demo').context).toEqual({
        apiAuthorization: kind,
      });
    },
  );

  it('leaves an invalid apiAuthorization to the validation of the settings', () => {
    expect(optionsOf('-c', 'apiAuthorization=lan').context).toEqual({ apiAuthorization: 'lan' });
  });

  it('has no demo with an app of the user, also if its API requires signatures', () => {
    const context = ['apiAuthorization=iam'];
    expect(startOptions({ once: true, demo: true, context, app: 'node app.mjs' })).toEqual({
      once: true,
      demo: false,
      context: { apiAuthorization: 'iam' },
      app: 'node app.mjs',
    });
    expect(refusalOf('--app', 'node app.mjs')).toContain('--app');
  });

  it('shows the help, even with other options', () => {
    expect(parseCommandLine(['--once', '--help'])).toEqual({ kind: 'help' });
  });
});

describe('the message of a second start', () => {
  const holder = { pid: 4711, since: '2026-01-01T00:00:00.000Z' };

  it('says where to find the running system', () => {
    expect(alreadyRunningText(holder, true)).toMatch(
      /already running in this folder \(process 4711, .*\.local\/endpoints\.json/,
    );
  });

  it('says to wait for a system that is still starting and has no endpoints yet', () => {
    const said = alreadyRunningText(holder, false);
    expect(said).toMatch(/is starting or stopping in this folder \(process 4711, .*Wait for it/);
    expect(said).not.toContain('endpoints.json');
  });
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
