import { parseArgs } from 'node:util';

export const usage = `Usage: npm start -- [options]

Starts Posthaste on a local AWS, shows a demo, and stays up until Ctrl-C.

  --once              stop after the demo; exit status 0 when every delivery ended as expected
  --no-demo           only the deployed system
  --port N            the local AWS on this loopback port (default: a free one)
  -c, --context K=V   a deployment setting, may be repeated (see the README's settings)
  -h, --help          this text`;

/**
 * @typedef {{ once: boolean, demo: boolean, port?: number, context: Record<string, string> }} StartOptions
 * @typedef {{ kind: 'start', options: StartOptions } | { kind: 'help' } | { kind: 'wrong', message: string }} CommandLine
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
 * Any other value that is wrong is told by the settings' own check.
 *
 * @param {string | undefined} authorization
 */
const demoCanCall = (authorization) => {
  if (authorization !== 'iam' && authorization !== 'jwt') return;
  throw new RangeError(
    `The demo calls the API unsigned, which apiAuthorization=${authorization} refuses. Add --no-demo.`,
  );
};

/** @param {string} text */
const portOf = (text) => {
  const port = /^\d+$/.test(text) ? Number(text) : NaN;
  if (port >= 1 && port <= 65_535) return port;
  throw new RangeError(`--port takes a number from 1 to 65535, not "${text}".`);
};

/**
 * @param {string} text
 * @returns {[string, string]}
 */
const settingOf = (text) => {
  const at = text.indexOf('=');
  const key = text.slice(0, Math.max(at, 0));
  if (key === '') throw new RangeError(`-c takes key=value, not "${text}".`);
  if (key === 'local') throw new RangeError('The setting "local" is always true here.');
  return [key, text.slice(at + 1)];
};
