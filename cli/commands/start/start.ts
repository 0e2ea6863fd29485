import { nodeProblem } from '../../../local/install/node-version.mjs';
import { Problem } from '../../../local/install/problem.mjs';
import { startOnce } from '../../../local/launch.mjs';
import { startOptions } from '../../../local/options.mjs';
import { collect, option } from '../../options/arguments.ts';
import { type Refuse, standalone } from '../../options/deployed.ts';

type Options = Partial<Record<'app' | 'port', string>> & {
  demo: boolean;
  once?: boolean;
  worker?: true;
  context?: readonly string[];
};

/** The functions, which AWS runs on Node 24, use `getCACertificates` of `node:tls`. */
const OLDEST_NODE = '22.15';

/** `posthaste start` */
export const start = standalone<Options>({
  options: [
    option('--app <COMMAND>', 'deploy the CDK app that this command runs, without the demo'),
    option('--port <N>', 'port of the local AWS on 127.0.0.1 (default: a free port)'),
    option('--no-demo', 'deploy without running the demo'),
    option('--worker', 'let posthaste worker do the work in place of the functions'),
    option('--once', 'stop after the demo: exit status 0 if every delivery ended as expected'),
    option(
      '-c, --context <KEY=VALUE>',
      'a deployment setting; repeatable (see docs/settings.md)',
      collect(String),
    ),
  ],
  more: `
Runs Posthaste on a local AWS until Ctrl-C: the built-in app with a demo, or
with --app a CDK app of yours in the current folder. Its data is lost at the end.
Needs Node 22.15 or later, and Python 3.10 or later with pip. What the package
does not contain is installed once, into .posthaste of the current folder.
Addresses and keys are in endpoints.json there.
`,
  examples: ['start', "start --app 'node app.mjs'"],
  run: async ({ options: { context = [], once = false, ...options }, terminal, refuse }) => {
    const checked = checkOptions({ ...options, once, context: [...context] }, refuse);
    const problem = nodeProblem(process.versions.node, OLDEST_NODE);
    if (problem !== undefined) throw new Problem(problem);
    terminal.exitStatus = await startOnce(checked);
    return undefined;
  },
});

function checkOptions(given: Parameters<typeof startOptions>[0], refuse: Refuse) {
  try {
    return startOptions(given);
  } catch (error) {
    if (error instanceof RangeError) refuse(error.message);
    throw error;
  }
}
