import { execFile, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { awsEnvironment, plainEnvironment } from '../../../cli/local/local-aws.ts';

const PROJECT = path.resolve(import.meta.dirname, '../../..');

export type Run = { status: number | string | null | undefined; stdout: string; stderr: string };

export type RunOptions = {
  env?: NodeJS.ProcessEnv;
  /** Given on stdin. */
  input?: string | Buffer;
  /** Has stdin to itself. */
  onStart?: (child: ChildProcess) => void;
};

/** The command as an operator runs it: a process of its own. */
export const posthaste = (
  args: readonly string[],
  { env = plainEnvironment(), input, onStart }: RunOptions = {},
): Promise<Run> =>
  new Promise((resolve) => {
    const options = { cwd: PROJECT, env, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(
      process.execPath,
      ['cli/posthaste.mjs', ...args],
      options,
      (error, stdout, stderr) => {
        resolve({ status: error === null ? 0 : error.code, stdout, stderr });
      },
    );
    if (onStart === undefined) child.stdin?.end(input ?? '');
    else onStart(child);
  });

/** For a command that finds the API here, and AWS nowhere. */
export const apiEnvironment = (apiUrl: string): NodeJS.ProcessEnv => ({
  ...plainEnvironment(),
  ...awsEnvironment('http://127.0.0.1:9'),
  POSTHASTE_API_URL: apiUrl,
});

/** The objects that stand on lines of their own. */
export const jsonLines = (text: string): unknown[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
