import { Argument, InvalidArgumentError, type Command } from 'commander';
import * as z from 'zod';
import type { RedriveOptions } from './redrive-run.ts';

const HELP = `
Messages of the ingress dead letters go back to the ingress queue, each under its old id. Jobs and wake-ups of the
delivery dead letters go back to the delivery and the retry queue; what deliver cannot read is skipped and stays.
Only messages that are there when the command starts are taken. It can be interrupted and repeated at any time.

Without --local and --deployment it works on the local start if one is up, else on the deployment Posthaste in AWS.

Examples:
  $ npm run -s posthaste -- redrive ingress
  $ npm run -s posthaste -- redrive delivery --since 2h --limit 100 --json

Exit status: 0; 1 when it failed; 2 when asked wrongly; 130 when interrupted.`;

/** The record of an undeliverable delivery is finished, and deliver does not touch a finished one. */
const NOT_YET = `posthaste: undeliverable deliveries cannot be redriven yet. They are finished, and what opens a finished delivery is
the retry API, which this version does not have. To deliver the data anyway, publish it under a new id.`;

/** `posthaste redrive`: dead letters go back where they came from. */
export const addRedrive = (program: Command): void => {
  program
    .command('redrive')
    .description('Send dead letters back where they came from.')
    .addArgument(
      new Argument('<queue>', 'whose dead letters').choices(['ingress', 'delivery', 'undeliverable']),
    )
    .option('--since <TIME>', 'only those sent since: RFC 3339, or how long ago (90s, 30m, 1h, 2d)', sinceOf)
    .option('--limit <N>', 'at most so many', limitOf)
    .option('--json', 'print JSON: queue, redriven, skipped, left')
    .option('--local', 'on the local start')
    .option('--deployment <NAME>', 'on the deployment with this prefix of its stacks, in AWS', deploymentOf)
    .addHelpText('after', HELP)
    .action(
      async (queue: 'ingress' | 'delivery' | 'undeliverable', options: RedriveOptions, command: Command) => {
        if (options.local === true && options.deployment !== undefined) {
          command.error("error: option '--local' cannot be used with option '--deployment'");
        }
        if (queue === 'undeliverable') {
          console.error(NOT_YET);
          process.exitCode = 2;
          return;
        }
        // Not loaded before: the SDK would slow every other command down.
        const { runRedrive } = await import('./redrive-run.ts');
        process.exitCode = await runRedrive(queue, options);
      },
    );
};

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

const ago = z
  .string()
  .regex(/^\d{1,6}[smhd]$/)
  .transform(
    (text) => Number(text.slice(0, -1)) * SECONDS[z.enum(['s', 'm', 'h', 'd']).parse(text.slice(-1))],
  );

/** Milliseconds since the epoch. */
const sinceOf = (text: string): number => {
  const seconds = ago.safeParse(text);
  if (seconds.success) return Date.now() - seconds.data * 1000;
  if (!z.iso.datetime({ offset: true }).safeParse(text).success) {
    throw new InvalidArgumentError('It takes a time such as 2026-11-21T12:00:00Z, or 90s, 30m, 1h, 2d.');
  }
  const at = Date.parse(text);
  if (at > Date.now()) throw new InvalidArgumentError('It lies in the future.');
  return at;
};

const limitOf = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It takes a whole number from 1.');
  return Number(text);
};

/** As the setting `deployment` is: the start of a stack's name. */
const deploymentOf = (text: string): string => {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(text)) {
    throw new InvalidArgumentError('It takes a letter, then up to 63 letters, digits and hyphens.');
  }
  return text;
};
