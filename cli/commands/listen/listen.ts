import { InvalidArgumentError, Option, type Command } from 'commander';
import { queueOf, wholeNumberOf, durationOf } from '../../options/arguments.ts';
import { onDeployment } from '../../options/deployment-options.ts';
import { policyOf } from '../../options/input.ts';
import type { Terminal } from '../../terminal.ts';
import { answerScriptOf, SCRIPT_FORM } from './webhook-receiver.ts';
import { runListen, type ListenOptions } from './run.ts';

const MORE = `
A script lists answers, separated by commas. Each has the form
  ${SCRIPT_FORM}
Each message starts at the beginning of the script, and the last answer repeats.
The output shows the time since the previous request for the same message.

Signatures are verified with the secret from --secret-file or the environment
variable POSTHASTE_WEBHOOK_SECRET, because other users of this machine could
see a secret in the arguments. --subscribe creates a subscription to this
receiver, verifies with its secret, and deletes it at the end. A deployment in
AWS cannot reach 127.0.0.1: run a tunnel, and give its public URL with --url.

Exit status: 0 after Ctrl-C, --for or --count.
`;

/** `posthaste listen` */
export function addListen(command: Command, terminal: Terminal): void {
  command
    .option('--port <N>', 'port on 127.0.0.1 (default: a free port)', wholeNumberOf(1, 65_535))
    .option('--path <PATH>', 'accept requests for this path', pathOf, '/')
    .addOption(
      new Option('--answer <SCRIPT>', 'answer requests as this script says')
        .argParser(answerScriptOf)
        .default(answerScriptOf('200'), '200'),
    )
    .option(
      '--secret-file <FILE>',
      'verify signatures with the secret (whsec_…) or public key (whpk_…) in this file; - for stdin',
    )
    .option('--subscribe <QUEUE>', 'subscribe to this queue while running', queueOf)
    .option('--url <URL>', 'public URL of this receiver, for --subscribe')
    .option('--policy <POLICY>', 'retry policy, as JSON or a preset; for --subscribe', policyOf)
    .option('--count <N>', 'stop after this number of requests', wholeNumberOf(1))
    .option('--for <DURATION>', 'stop after this long: seconds, or 30m, 1h', durationOf)
    .action(async (options: ListenOptions) => {
      const { subscribe, url, policy } = options;
      if (subscribe === undefined && (url !== undefined || policy !== undefined)) {
        command.error("error: options '--url' and '--policy' require option '--subscribe'");
      }
      await terminal.untilInterrupted((signal) => runListen(options, signal, terminal));
    });
  onDeployment(command, {
    json: 'one request per line: at, method, path, headers, body, messageId, count, secondsSince, answer, verified',
    more: MORE,
    examples: [
      'listen --port 8080 --secret-file webhook-secret.txt',
      `listen --subscribe orders --answer 503x3,200 --policy '{"minimum_delay": 2}'`,
    ],
  });
}

function pathOf(text: string): string {
  if (!/^\/[\w\-./~%]*$/.test(text)) throw new InvalidArgumentError('Expected a path such as /hook.');
  return text;
}
