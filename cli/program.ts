import { Command, Help, type AddHelpTextContext } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import type { Output, Terminal } from './terminal.ts';

type Subcommand = {
  name: string;
  description: string;
  /** Called only for the requested subcommand, so that others do not wait for its imports. */
  load: () => Promise<(command: Command, terminal: Terminal) => void>;
};

const SUBCOMMANDS: readonly Subcommand[] = [
  {
    name: 'queue',
    description: 'List, show, create, change and delete queues.',
    load: async () => (await import('./commands/queue/queue.ts')).addQueueCommands,
  },
  {
    name: 'subscription',
    description: 'Manage the subscriptions of a queue: create, change, test, export and more.',
    load: async () => (await import('./commands/subscription/subscription.ts')).addSubscriptionCommands,
  },
  {
    name: 'publish',
    description: 'Publish messages to a queue.',
    load: async () => (await import('./commands/publish/publish.ts')).addPublish,
  },
  {
    name: 'message',
    description: 'Show messages and erase their data.',
    load: async () => (await import('./commands/message/message.ts')).addMessageCommands,
  },
  {
    name: 'find',
    description: 'Find a message, a subscription or a time in all queues.',
    load: async () => (await import('./commands/find/find.ts')).addFind,
  },
  {
    name: 'explain',
    description: 'Explain what became of a message for each subscription.',
    load: async () => (await import('./commands/message/explain.ts')).addExplain,
  },
  {
    name: 'send',
    description: 'Send a message to one subscription.',
    load: async () => (await import('./commands/deliveries/manual.ts')).addSend,
  },
  {
    name: 'deliveries',
    description: 'List, show and watch deliveries.',
    load: async () => (await import('./commands/deliveries/deliveries.ts')).addDeliveryCommands,
  },
  {
    name: 'retry',
    description: 'Retry a delivery now, open or ended.',
    load: async () => (await import('./commands/deliveries/manual.ts')).addRetry,
  },
  {
    name: 'cancel',
    description: 'Cancel an open delivery.',
    load: async () => (await import('./commands/deliveries/manual.ts')).addCancel,
  },
  {
    name: 'recover',
    description: 'Recover the failed deliveries of a time window: start, show, list and stop recoveries.',
    load: async () => (await import('./commands/recover/recover.ts')).addRecoverCommands,
  },
  {
    name: 'deadletters',
    description: 'List, show and delete dead letters and undeliverable notices.',
    load: async () => (await import('./commands/deadletters/dead-letters.ts')).addDeadLetterCommands,
  },
  {
    name: 'redrive',
    description: 'Send dead letters back to their queues, and retry undeliverable deliveries.',
    load: async () => (await import('./commands/redrive/redrive.ts')).addRedrive,
  },
  {
    name: 'books',
    description: 'Reconciliation report: compare the messages of a time window with their deliveries.',
    load: async () => (await import('./commands/books/books.ts')).addBooks,
  },
  {
    name: 'policy',
    description: 'Preview the schedule of a retry policy.',
    load: async () => (await import('./commands/policy/preview.ts')).addPolicyCommands,
  },
  {
    name: 'plan',
    description: 'Estimate AWS cost and quotas for a planned load.',
    load: async () => (await import('./commands/plan/plan.ts')).addPlan,
  },
  {
    name: 'listen',
    description: 'Receive webhooks on this machine: print them, verify them, and answer as a script says.',
    load: async () => (await import('./commands/listen/listen.ts')).addListen,
  },
  {
    name: 'worker',
    description: 'Do the work of the functions on this machine, in a container or beside Lambda.',
    load: async () => (await import('./commands/worker/worker.ts')).addWorker,
  },
  {
    name: 'forward',
    description: 'Receive the deliveries of a pull subscription, and post them to a URL of your choice.',
    load: async () => (await import('./commands/forward/forward.ts')).addForward,
  },
  {
    name: 'console',
    description: 'Open the web console for a deployment.',
    load: async () => (await import('./commands/console/console.ts')).addConsole,
  },
  {
    name: 'proxy',
    description: 'Let local programs call the API without signing their requests.',
    load: async () => (await import('./commands/proxy/proxy.ts')).addProxy,
  },
  {
    name: 'doctor',
    description: 'Check the health of a deployment, with advice for each problem.',
    load: async () => (await import('./commands/doctor/doctor.ts')).addDoctor,
  },
  {
    name: 'init',
    description: 'Write a CDK app with Posthaste, or add it to the CDK app of a folder.',
    load: async () => (await import('./commands/init/init.ts')).addInit,
  },
  {
    name: 'start',
    description: 'Start Posthaste on a local AWS, on this machine.',
    load: async () => (await import('./commands/start/start.ts')).addStart,
  },
  {
    name: 'completion',
    description: 'Print a completion script for bash, zsh or fish.',
    load: async () => (await import('./commands/completion/completion.ts')).addCompletion,
  },
];

/** The command with the names of all subcommands. Only the requested one has its options and actions. */
export async function programFor(words: readonly string[], terminal: Terminal): Promise<Command> {
  const program = emptyProgram(terminal)
    .description('Operate a Posthaste deployment: queues, subscriptions, deliveries and recovery.')
    .version(packageJson.version, '--version', 'print the version');
  program.addHelpText('beforeAll', missingCommandText);
  const requested = requestedSubcommand(words);
  for (const { name, description, load } of SUBCOMMANDS) {
    const command = program.command(name).description(description);
    if (requested === name) (await load())(command, terminal);
  }
  pointToHelp(program, 'posthaste');
  return program;
}

/** A usage error leads with its sentence, and the help that would push it off the screen is one command away. */
function pointToHelp(command: Command, words: string): void {
  command.showHelpAfterError(`See ${words} --help`);
  for (const inner of command.commands) pointToHelp(inner, `${words} ${inner.name()}`);
}

/** commander prints only the help for a command without its subcommand, so the error is added here. */
function missingCommandText({ error, command }: AddHelpTextContext): string {
  return error && command.commands.length > 0 && command.args.length === 0
    ? 'error: missing command; choose one of those below\n'
    : '';
}

/** The command with every subcommand complete, except the one named. */
export async function wholeProgram(terminal: Terminal, except?: string): Promise<Command> {
  const program = emptyProgram(terminal);
  for (const { name, description, load } of SUBCOMMANDS.filter((one) => one.name !== except)) {
    (await load())(program.command(name).description(description), terminal);
  }
  return program;
}

function emptyProgram({ stdout, stderr }: Terminal): Command {
  return new Command('posthaste')
    .exitOverride()
    .configureHelp({ subcommandTerm })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHelpWidth: () => widthOf(stdout),
      getErrHelpWidth: () => widthOf(stderr),
    });
}

/** The usage of a subcommand in a list, short enough for its description to fit beside it. */
function subcommandTerm(command: Command): string {
  return new Help().subcommandTerm(command).replace(' [options]', '');
}

/** Width of the help text in columns. */
function widthOf({ isTTY, columns = 80 }: Output): number {
  return isTTY === true ? columns : 80;
}

function requestedSubcommand(words: readonly string[]): string | undefined {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  return first === 'help' ? second : first;
}
