import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import type { Output, Terminal } from './terminal.ts';

type Part = {
  name: string;
  description: string;
  /** Loaded only when it is asked for: nothing else has to wait for what it needs. */
  load: () => Promise<(command: Command, terminal: Terminal) => void>;
};

const PARTS: readonly Part[] = [
  {
    name: 'queue',
    description: 'Queues: list, show, create, set, delete.',
    load: async () => (await import('./commands/queue/queue.ts')).addQueueCommands,
  },
  {
    name: 'subscription',
    description: 'Subscriptions of a queue: all that can be done with them.',
    load: async () => (await import('./commands/subscription/subscription.ts')).addSubscriptionCommands,
  },
  {
    name: 'publish',
    description: 'Publish messages to a queue.',
    load: async () => (await import('./commands/publish/publish.ts')).addPublish,
  },
  {
    name: 'message',
    description: 'Messages: show, erase.',
    load: async () => (await import('./commands/message/message.ts')).addMessageCommands,
  },
  {
    name: 'deliveries',
    description: 'Deliveries: list, show, watch.',
    load: async () => (await import('./commands/deliveries/deliveries.ts')).addDeliveryCommands,
  },
  {
    name: 'retry',
    description: 'Retry a delivery now, whether it is under way or over.',
    load: async () => (await import('./commands/deliveries/retry.ts')).addRetry,
  },
  {
    name: 'cancel',
    description: 'Cancel a delivery that is not over.',
    load: async () => (await import('./commands/deliveries/cancel.ts')).addCancel,
  },
  {
    name: 'recover',
    description: 'Replay the failed deliveries of a time: start, status, list, stop.',
    load: async () => (await import('./commands/recover/recover.ts')).addRecoverCommands,
  },
  {
    name: 'redrive',
    description: 'Send dead letters back where they came from, and retry undeliverable deliveries.',
    load: async () => (await import('./commands/redrive/redrive.ts')).addRedrive,
  },
  {
    name: 'books',
    description: 'Count what became of the messages of a time.',
    load: async () => (await import('./commands/books/books.ts')).addBooks,
  },
  {
    name: 'policy',
    description: 'Retry policies: preview.',
    load: async () => (await import('./commands/policy/preview.ts')).addPolicyCommands,
  },
  {
    name: 'plan',
    description: 'What so many deliveries cost, and what they need of an account.',
    load: async () => (await import('./commands/plan/plan.ts')).addPlan,
  },
  {
    name: 'listen',
    description: 'Receive webhooks here, print and verify them, and answer by a script.',
    load: async () => (await import('./commands/listen/listen.ts')).addListen,
  },
  {
    name: 'console',
    description: 'Look at a deployment and work on it in the browser.',
    load: async () => (await import('./commands/console/console.ts')).addConsole,
  },
  {
    name: 'proxy',
    description: 'Let programs on this machine call the API without signing.',
    load: async () => (await import('./commands/proxy/proxy.ts')).addProxy,
  },
  {
    name: 'doctor',
    description: 'Check a deployment, and say what to do.',
    load: async () => (await import('./commands/doctor/doctor.ts')).addDoctor,
  },
];

/** The command with all its parts by name, and those that the words ask for complete. */
export async function programFor(words: readonly string[], terminal: Terminal): Promise<Command> {
  const program = emptyProgram(terminal)
    .description("The operator's command for Posthaste.")
    .version(packageJson.version, '--version', 'Print the version.')
    .showHelpAfterError();
  const asked = askedFor(words);
  for (const { name, description, load } of PARTS) {
    const command = program.command(name).description(description);
    if (asked === name) (await load())(command, terminal);
  }
  return program;
}

/** All of it. */
export async function wholeProgram(terminal: Terminal): Promise<Command> {
  const program = emptyProgram(terminal);
  for (const { name, description, load } of PARTS) {
    (await load())(program.command(name).description(description), terminal);
  }
  return program;
}

function emptyProgram({ stdout, stderr }: Terminal): Command {
  return new Command('posthaste').exitOverride().configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
    getOutHelpWidth: () => widthOf(stdout),
    getErrHelpWidth: () => widthOf(stderr),
  });
}

/** Columns that the help may take. */
function widthOf({ isTTY, columns = 80 }: Output): number {
  return isTTY === true ? columns : 80;
}

function askedFor(words: readonly string[]): string | undefined {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  return first === 'help' ? second : first;
}
