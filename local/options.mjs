import { parseArgs } from 'node:util';

export const usage = `Usage: npm start -- [options]

Deploys Posthaste on a local AWS, runs a demo, and keeps running until Ctrl-C.

  --once              stop after the demo; exit status 0 if every delivery ended as expected
  --no-demo           deploy without running the demo
  --port N            port of the local AWS on 127.0.0.1 (default: a free port)
  -c, --context K=V   a deployment setting; repeatable (see docs/settings.md)
  -h, --help          show this help`;

/**
 * @typedef {{ once: boolean, demo: boolean, port?: number, context: Record<string, string> }} StartOptions
 * @typedef {{ kind: 'start', options: StartOptions } | { kind: 'help' } | { kind: 'wrong', message: string }}
 * CommandLine
 */

/**
 * @param {string[]} args
 * @returns {CommandLine}
 */
export const parseCommandLine = (args) => {
  try {
    const { values } = parseArgs({
      args,
      options: {
        once: { type: 'boolean', default: false },
        'no-demo': { type: 'boolean', default: false },
        port: { type: 'string' },
        context: { type: 'string', short: 'c', multiple: true, default: [] },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return { kind: 'help' };
    const port = values.port === undefined ? {} : { port: portOf(values.port) };
    const context = Object.fromEntries(values.context.map(settingOf));
    const demo = !values['no-demo'];
    if (demo) demoCanCall(context['apiAuthorization']);
    return { kind: 'start', options: { once: values.once, demo, ...port, context } };
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError)
      return { kind: 'wrong', message: error.message };
    throw error;
  }
};

/**
 * Checks only what the demo needs. Other invalid values are reported by the validation of the settings.
 *
 * @param {string | undefined} authorization
 */
const demoCanCall = (authorization) => {
  if (authorization !== 'iam' && authorization !== 'jwt') return;
  throw new RangeError(
    `The demo sends unsigned API calls, which apiAuthorization=${authorization} refuses. Add --no-demo to start without it.`,
  );
};

/** @param {string} text */
const portOf = (text) => {
  const port = /^\d+$/.test(text) ? Number(text) : NaN;
  if (port >= 1 && port <= 65_535) return port;
  throw new RangeError(`--port must be a number from 1 to 65535, not "${text}".`);
};

/**
 * @param {string} text
 * @returns {[string, string]}
 */
const settingOf = (text) => {
  const at = text.indexOf('=');
  const key = text.slice(0, Math.max(at, 0));
  if (key === '') throw new RangeError(`-c must be KEY=VALUE, not "${text}".`);
  if (key === 'local')
    throw new RangeError('The setting "local" cannot be changed: npm start always deploys locally.');
  return [key, text.slice(at + 1)];
};
