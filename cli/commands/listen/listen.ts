import { InvalidArgumentError, type Command } from 'commander';
import { jsonObjectOf, queueOf, wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment } from '../../options/deployment-options.ts';
import { durationOf } from '../../options/time.ts';
import type { Terminal } from '../../terminal.ts';
import { answerScriptOf, SCRIPT_FORM } from './answer-script.ts';
import { runListen, type ListenOptions } from './run.ts';

const MORE = `
Answers: ${SCRIPT_FORM}.
Each message goes through the script from its beginning, and the last answer is given again and again. Every block says how long
after the request before it came.

Signatures are verified with the secret of --secret-file, or of the environment variable POSTHASTE_WEBHOOK_SECRET. An option would show it to all
users of this machine. With --subscribe it subscribes its own URL for as long as it runs, and verifies with the secret that it is given. A deployment in
AWS cannot reach this machine: --url is the public URL under which a tunnel of yours leads here.

Ends with status 0 by Ctrl-C, after --for or after --count.
`;

/** `posthaste listen` */
export function addListen(command: Command, terminal: Terminal): void {
  command
    .option('--port <N>', 'on this port of 127.0.0.1 (default: a free one)', wholeNumberOf(1, 65_535))
    .option('--path <PATH>', 'on this path', pathOf, '/')
    .option('--answer <SCRIPT>', 'answer by this script', answerScriptOf, answerScriptOf('200'))
    .option('--secret-file <FILE>', 'verify signatures with the whsec_… or whpk_… in this file, - for stdin')
    .option('--subscribe <QUEUE>', 'subscribe to this queue meanwhile', queueOf)
    .option('--url <URL>', 'under which it is subscribed')
    .option('--policy <JSON>', 'with this retry policy', jsonObjectOf)
    .option('--count <N>', 'end after so many requests', wholeNumberOf(1))
    .option('--for <TIME>', 'end after this time: seconds, or 30m, 1h', durationOf)
    .action(async (options: ListenOptions) => {
      const { subscribe, url, policy } = options;
      if (subscribe === undefined && (url !== undefined || policy !== undefined)) {
        command.error("error: options '--url' and '--policy' need option '--subscribe'");
      }
      await terminal.untilInterrupted((signal) => runListen(options, signal, terminal));
    });
  onDeployment(command, {
    json: 'one request a line: at, method, path, headers, body, messageId, count, secondsSince, answer, verified',
    more: MORE,
    examples: [
      'listen --port 8080 --secret-file webhook-secret.txt',
      `listen --subscribe orders --answer 503x3,200 --policy '{"minimum_delay": 2}'`,
    ],
  });
}

function pathOf(text: string): string {
  if (!/^\/[\w\-./~%]*$/.test(text)) throw new InvalidArgumentError('It takes a path such as /hook.');
  return text;
}
