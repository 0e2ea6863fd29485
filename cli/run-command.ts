import { Command, CommanderError, Help } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { COMMAND } from '../local/command-name.ts';
import type { AddTo } from './options/deployed.ts';
import { reportFailure } from './failure-report.ts';
import { INTERRUPTED } from './interruption.ts';
import { type Output, type ProcessLike, type Sleep, type Terminal, terminalIn } from './terminal.ts';

/**
 * Runs the command and returns its exit status: 0 success, 1 failure, 2 usage error (unknown command or option, invalid
 * value), 130 interrupted. The AWS SDK still reads its variables, such as AWS_PROFILE, from `process.env`.
 */
export async function runCommand(args: readonly string[], host: ProcessLike, sleep?: Sleep): Promise<number> {
  const terminal = terminalIn(host, sleep);
  const status = await runProgram(args, terminal);
  const isWritten = await terminal.allWritten();
  return status === 0 && !isWritten ? 1 : status;
}

async function runProgram(args: readonly string[], terminal: Terminal): Promise<number> {
  let json = false;
  try {
    if (args[0] === 'complete') {
      await complete(args.slice(args.indexOf('--') + 1), terminal);
      return 0;
    }
    const program = await requestedProgram(args, terminal);
    program.hook('preAction', (_, command) => {
      json = command.opts<{ json?: true }>().json === true;
    });
    await program.parseAsync(args, { from: 'user' });
    return terminal.exitStatus;
  } catch (failure) {
    // commander has already printed the error. Requested help has exit code 0.
    if (failure instanceof CommanderError) return failure.exitCode === 0 ? 0 : 2;
    if (failure instanceof Error && failure.name === 'AbortError')
      return terminal.readerLeft.aborted ? 0 : INTERRUPTED;
    reportFailure(failure, json, terminal);
    return 1;
  }
}

/** Prints what can follow the words, for the scripts of `posthaste completion`. The last word may be incomplete. */
async function complete(words: readonly string[], terminal: Terminal): Promise<void> {
  // Loaded only here: no other command needs it.
  const { default: tab } = await import('@bomb.sh/tab/commander');
  const { offerEventTypes } = await import('./commands/completion/event-type-names.ts');
  const program = await requestedProgram(words, terminal);
  await offerEventTypes(program, words, terminal);
  const completion = tab(program, { completionCommandName: SCRIPTS_OF_THE_LIBRARY });
  completion.commands.delete(SCRIPTS_OF_THE_LIBRARY);
  completion.parse([...words]);
}

/** The library adds a command that prints its own scripts, also for shells that ours has none for. */
const SCRIPTS_OF_THE_LIBRARY = 'scripts-of-the-library';

const DESCRIPTIONS = {
  queue: 'List, show, create, change and delete queues.',
  subscription: 'Manage the subscriptions of a queue: create, change, test, export and more.',
  'event-types': 'Keep the catalogue of event types: apply a folder, list, export, write TypeScript types.',
  publish: 'Publish messages to a queue.',
  message: 'Show messages and erase their data.',
  find: 'Find a message, a subscription or a time in all queues.',
  explain: 'Explain what became of a message for each subscription.',
  send: 'Send a message to one subscription.',
  deliveries: 'List, show and watch deliveries.',
  retry: 'Retry a delivery now, open or ended.',
  cancel: 'Cancel an open delivery.',
  recover: 'Recover the failed deliveries of a time window: start, show, list and stop recoveries.',
  deadletters: 'List, show and delete dead letters and undeliverable notices.',
  redrive: 'Send dead letters back to their queues, and retry undeliverable deliveries.',
  books: 'Reconciliation report: compare the messages of a time window with their deliveries.',
  policy: 'Preview the schedule of a retry policy.',
  plan: 'Estimate AWS cost and quotas for a planned load.',
  listen: 'Receive webhooks on this machine: print them, verify them, and answer as a script says.',
  worker: 'Do the work of the functions on this machine, in a container or beside Lambda.',
  forward: 'Receive the deliveries of a pull subscription, and post them to a URL of your choice.',
  portal: 'Give each customer a page: make links, end sessions.',
  console: 'Open the web console for a deployment.',
  proxy: 'Let local programs call the API without signing their requests.',
  doctor: 'Check the health of a deployment, with advice for each problem.',
  accept: 'Prove on a deployment what Posthaste promises, from the retry policy to the alarms.',
  init: 'Write a CDK app with Posthaste, or add it to the CDK app of a folder.',
  start: 'Start Posthaste on a local AWS, on this machine.',
  upgrade: 'Say what an upgrade of a deployment would change, without changing anything.',
  completion: 'Print a completion script for bash, zsh or fish.',
};

type Load = () => Promise<AddTo>;

/** Called only for the requested subcommand, so that others do not wait for its imports. */
const LOADERS: Readonly<Record<string, Load>> = {
  queue: async () => (await import('./commands/queue/queue.ts')).queueCommands,
  subscription: async () => (await import('./commands/subscription/subscription.ts')).subscriptionCommands,
  'event-types': async () => (await import('./commands/event-types/event-types.ts')).eventTypesCommands,
  publish: async () => (await import('./commands/publish/publish.ts')).publish,
  message: async () => (await import('./commands/message/message.ts')).messageCommands,
  find: async () => (await import('./commands/find/find.ts')).find,
  explain: async () => (await import('./commands/message/message.ts')).explain,
  send: async () => (await import('./commands/deliveries/manual.ts')).send,
  deliveries: async () => (await import('./commands/deliveries/deliveries.ts')).deliveriesCommands,
  retry: async () => (await import('./commands/deliveries/manual.ts')).retry,
  cancel: async () => (await import('./commands/deliveries/manual.ts')).cancel,
  recover: async () => (await import('./commands/recover/recover.ts')).recoverCommands,
  deadletters: async () => (await import('./commands/deadletters/dead-letters.ts')).deadLetterCommands,
  redrive: async () => (await import('./commands/redrive/redrive.ts')).redrive,
  books: async () => (await import('./commands/books/books.ts')).books,
  policy: async () => (await import('./commands/policy/preview.ts')).policyCommands,
  plan: async () => (await import('./commands/plan/plan.ts')).plan,
  listen: async () => (await import('./commands/listen/listen.ts')).listen,
  worker: async () => (await import('./commands/worker/worker.ts')).worker,
  forward: async () => (await import('./commands/forward/forward.ts')).forward,
  portal: async () => (await import('./commands/portal/portal.ts')).portalCommands,
  console: async () => (await import('./commands/console/console.ts')).consoleCommand,
  proxy: async () => (await import('./commands/proxy/proxy.ts')).proxy,
  doctor: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  accept: async () => (await import('./commands/accept/accept.ts')).accept,
  init: async () => (await import('./commands/init/init.ts')).init,
  start: async () => (await import('./commands/start/start.ts')).start,
  upgrade: async () => (await import('./commands/upgrade/upgrade.ts')).upgrade,
  completion: async () => (await import('./commands/completion/completion.ts')).completion,
} satisfies Record<keyof typeof DESCRIPTIONS, Load>;

/** The command as the words need it. */
function requestedProgram(words: readonly string[], terminal: Terminal): Promise<Command> {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  const requested = first === 'help' ? second : first;
  return programWith((name) => name === requested, terminal);
}

/** The command with the names of all subcommands. Only those that are wanted have their options and actions. */
export async function programWith(isWanted: (name: string) => boolean, terminal: Terminal): Promise<Command> {
  const program = emptyProgram(terminal)
    .description('Operate a Posthaste deployment: queues, subscriptions, deliveries and recovery.')
    .version(packageJson.version, '--version', 'print the version');
  // commander prints only the help for a command without its subcommand, so the error is added here.
  program.addHelpText('beforeAll', ({ error, command }) => {
    refuseUnknown(command);
    return error && command.commands.length > 0 && command.args.length === 0
      ? 'error: missing command; choose one of those below\n'
      : '';
  });
  for (const [name, description] of Object.entries(DESCRIPTIONS)) {
    const command = program.command(name).description(description);
    if (isWanted(name)) (await LOADERS[name]?.())?.(command, terminal);
  }
  pointToHelp(program, COMMAND);
  return program;
}

/** commander shows the help of the command above for an unknown one. Parsed without --help, its name is refused. */
function refuseUnknown(command: Command): void {
  const name = command.args.find((word) => word !== 'help' && !word.startsWith('-'));
  const isKnown = command.commands.length === 0 || command.commands.some((one) => one.name() === name);
  if (name !== undefined && !isKnown) command.parse([name], { from: 'user' });
}

/** A usage error leads with its sentence, and the help that would push it off the screen is one command away. */
function pointToHelp(command: Command, words: string): void {
  command.showHelpAfterError(`See ${words} --help`);
  for (const inner of command.commands) pointToHelp(inner, `${words} ${inner.name()}`);
}

function emptyProgram({ stdout, stderr }: Terminal): Command {
  return new Command('posthaste')
    .exitOverride()
    .configureHelp({ subcommandTerm, minWidthToWrap: MIN_TEXT_WIDTH })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHelpWidth: () => findHelpWidth(stdout),
      getErrHelpWidth: () => findHelpWidth(stderr),
    });
}

/** The usage of a subcommand in a list, short enough for its description to fit beside it. */
function subcommandTerm(command: Command): string {
  return new Help().subcommandTerm(command).replace(' [options]', '');
}

/** Columns beside a term of the help. With fewer, descriptions go over the edge. */
const MIN_TEXT_WIDTH = 20;

/** Width of the help text in columns. */
function findHelpWidth({ isTTY, columns = 80 }: Output): number {
  return isTTY === true ? columns : 80;
}
