import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../../local/options.mjs';

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
  it('shows the demo and stays up when nothing is said', () => {
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

  it('passes settings on with everything after the first equals sign, the last of a key winning', () => {
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

  it('refuses an option or a word that it does not know, and names it', () => {
    expect(refusalOf('--onec')).toContain('--onec');
    expect(refusalOf('now')).toContain('now');
  });

  it.each(['0', '65536', 'http', '1.5', ''])('refuses the port "%s"', (port) => {
    expect(refusalOf(`--port=${port}`)).toContain('--port');
  });

  it.each(['retentionDays', '=20'])('refuses the setting "%s", which has no key and value', (setting) => {
    expect(refusalOf('-c', setting)).toContain(setting);
  });

  it('does not let itself be deployed as anything but local', () => {
    expect(refusalOf('-c', 'local=false')).toContain('local');
  });

  it.each(['iam', 'jwt'])('refuses a demo where the API asks for %s: its calls are unsigned', (kind) => {
    expect(refusalOf('-c', `apiAuthorization=${kind}`, '--once')).toMatch(
      new RegExp(`apiAuthorization=${kind}.*--no-demo`),
    );
    expect(optionsOf('-c', `apiAuthorization=${kind}`, '--no-demo').context).toEqual({
      apiAuthorization: kind,
    });
  });

  it('leaves a value that no API authorisation has to the settings’ own check', () => {
    expect(optionsOf('-c', 'apiAuthorization=lan').context).toEqual({ apiAuthorization: 'lan' });
  });

  it('explains itself before it looks at anything else', () => {
    expect(parseCommandLine(['--once', '--help'])).toEqual({ kind: 'help' });
  });
});
