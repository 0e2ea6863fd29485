import type { Command } from 'commander';
import { listEventTypesOfQueue } from '../../../api-client/operations.ts';
import { openApi } from '../../api/api-access.ts';
import type { Terminal } from '../../terminal.ts';

const OPTIONS: ReadonlySet<string | undefined> = new Set(['--event-type', '--type', '--example']);

/** The user waits at the prompt. */
const TIMEOUT_MS = 3_000;

/**
 * Makes the event types that the queue may see the choices of an option, if the last word is its value. Without an
 * answer of the deployment there are none.
 */
export async function offerEventTypes(
  program: Command,
  words: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const name = words.at(-2);
  if (!OPTIONS.has(name)) return;
  const [first, second = '', third = ''] = words.filter((word) => !word.startsWith('-'));
  const command = program.commands.find((one) => one.name() === first);
  const inner = command?.commands.find((one) => one.name() === second);
  const option = (inner ?? command)?.options.find(({ long }) => long === name);
  if (option === undefined || option.argChoices !== undefined) return;
  const [, deployment] = words.slice(words.indexOf('--deployment'));
  const isNamed = deployment !== undefined && words.includes('--deployment');
  const choice = {
    ...(isNamed && { deployment }),
    ...(words.includes('--local') && { local: true as const }),
  };
  const queue = inner === undefined ? second : third;
  try {
    const api = await openApi(choice, terminal);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { items } = await api.items(listEventTypesOfQueue, { path: { queue }, signal });
    option.choices(items.map((type) => type.name));
  } catch {
    // No deployment, no right or no answer: the user types the name.
  }
}
