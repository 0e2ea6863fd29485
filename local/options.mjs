import { parseArgs } from 'node:util';

export const usage = `Usage: npm start -- [options]

Deploys Posthaste on a local AWS, runs a demo, and keeps running until Ctrl-C.
Its data is lost then.

  --once              stop after the demo; exit status 0 if every delivery ended
                      as expected
  --no-demo           deploy without running the demo
  --worker            let posthaste worker do the work in place of the functions
  --port N            port of the local AWS on 127.0.0.1 (default: a free port)
  -c, --context K=V   a deployment setting; repeatable (see docs/settings.md)
  -h, --help          show this help`;

/**
 * `app`: the command of a CDK app to deploy in place of the built-in one.
 *
 * @typedef {{ once: boolean, demo: boolean, worker?: true, port?: number, context: Record<string, string>, app?: string }}
 * StartOptions
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
        worker: { type: 'boolean', default: false },
        port: { type: 'string' },
        context: { type: 'string', short: 'c', multiple: true, default: [] },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return { kind: 'help' };
    return { kind: 'start', options: startOptions({ ...values, demo: !values['no-demo'] }) };
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError)
      return { kind: 'wrong', message: error.message };
    throw error;
  }
};

/**
 * @param {{ once: boolean, demo: boolean, worker?: boolean, port?: string, context: string[], app?: string }} given
 * @returns {StartOptions}
 * @throws {RangeError} naming the invalid option
 */
export const startOptions = ({ once, demo, worker = false, port, context: settings, app }) => {
  const context = Object.fromEntries([...(worker ? ['compute=worker'] : []), ...settings].map(parseSetting));
  // The demo's subscribers and policies are those of the built-in app.
  const isDemo = demo && app === undefined;
  if (isDemo) demoCanCall(context['apiAuthorization']);
  return {
    once,
    demo: isDemo,
    ...(worker ? { worker } : {}),
    ...(port === undefined ? {} : { port: parsePort(port) }),
    context,
    ...(app === undefined ? {} : { app }),
  };
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
const parsePort = (text) => {
  const port = /^\d+$/.test(text) ? Number(text) : NaN;
  if (port >= 1 && port <= 65_535) return port;
  throw new RangeError(`--port must be a number from 1 to 65535, not "${text}".`);
};

/**
 * @param {string} text
 * @returns {[string, string]}
 */
const parseSetting = (text) => {
  const at = text.indexOf('=');
  const key = text.slice(0, Math.max(at, 0));
  if (key === '') throw new RangeError(`-c must be KEY=VALUE, not "${text}".`);
  if (key === 'local')
    throw new RangeError('The setting "local" cannot be changed: a start always deploys locally.');
  return [key, text.slice(at + 1)];
};
