import type { Command, Option } from 'commander';
import { listEventTypesOfQueue } from '../../../api-client/operations.ts';
import type { DeploymentChoice } from '../../deployment.ts';
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
  const { option, queue } = findOption(program, words);
  if (option === undefined || option.argChoices !== undefined) return;
  try {
    // Loaded only here: most words to complete need no request.
    const { openApi } = await import('../../api/api-access.ts');
    const api = await openApi(findDeployment(words), terminal);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const given = { path: { queue }, query: { detailed: false }, signal };
    const { items } = await api.items(listEventTypesOfQueue, given);
    option.choices(items.map(({ name }) => name));
  } catch {
    // No deployment, no right or no answer: the user types the name.
  }
}

function findOption(
  program: Command,
  words: readonly string[],
): { option: Option | undefined; queue: string } {
  const long = words.at(-2);
  const [first, second = '', third = ''] = words.filter((word) => !word.startsWith('-'));
  const command = program.commands.find((one) => one.name() === first);
  const inner = command?.commands.find((one) => one.name() === second);
  const option = (inner ?? command)?.options.find((one) => OPTIONS.has(long) && one.long === long);
  return { option, queue: inner === undefined ? second : third };
}

function findDeployment(words: readonly string[]): DeploymentChoice {
  const at = words.indexOf('--deployment');
  const deployment = at === -1 ? undefined : words[at + 1];
  return {
    ...(words.includes('--local') && { local: true }),
    ...(deployment !== undefined && { deployment }),
  };
}
