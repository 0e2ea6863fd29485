import { sumOfCounts } from '../../../shared/domain/delivery/books.ts';
import { REDRIVEN_QUEUES, type RedrivenQueue } from '../../../shared/domain/work-queues.ts';
import { requireQueue } from '../../api/find-subscription.ts';
import { redriveDeadLetters } from '../../dead-letters/change.ts';
import { openDeadLetters } from '../../dead-letters/dead-letter-access.ts';
import { asJson, chooseExitStatus, describeOutcome } from '../../dead-letters/run-text.ts';
import { argument, option, parseQueue, wholeNumber } from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import { printable } from '../../output/text.ts';
import {
  type ChosenOptions,
  DEAD_LETTER_FILTER,
  ID,
  pickFilter,
  runOverChosen,
  SINCE,
} from '../deadletters/dead-letters.ts';

type RedriveOptions = ChosenOptions & {
  limit?: number;
  dryRun?: true;
  toQueue?: string;
  evenUnmatched?: true;
};

/** `posthaste redrive` */
export const redrive = deployed<RedriveOptions>({
  arguments: [argument('<queue>', 'which dead letters to redrive').choices(REDRIVEN_QUEUES)],
  options: [
    ...DEAD_LETTER_FILTER,
    ID,
    SINCE,
    option('--limit <N>', 'maximum number of messages to redrive (default: all)', wholeNumber(1)),
    option(
      '--to-queue <QUEUE>',
      'ingress: send the messages to this queue instead, such as for a mistyped name',
      parseQueue,
    ),
    option(
      '--even-unmatched',
      'ingress: also to a queue without a subscription, which does not keep the data',
    ),
    option('--dry-run', 'change nothing, and say what would be redriven'),
  ],
  json: 'queue, redriven, skipped, left, hidden; also settled for undeliverable, hiddenUntil, missing, dryRun',
  more: `
  ingress        sends dead letters back to the ingress queue, with the same
                 message ids; with --to-queue to another queue of Posthaste.
                 Those of a queue that was missing (unknown_queue) are skipped
                 while it has no subscription: they would match none. So are
                 those that cannot be read (not_json, data_missing and
                 invalid_field), unless --reason names theirs: for a release
                 that reads them
  delivery       sends dead letters back to the delivery and retry queues
  operation      continues recoveries and cancellations where they stopped
  undeliverable  retries deliveries that were rejected or exhausted, and removes
                 their notices. A delivery that is delivered, cancelled or open
                 by now, that ended again, or whose subscription was deleted,
                 needs no retry: its notice is settled, which means removed
                 without a retry

Messages that cannot be read or retried are skipped and stay in their queue.
Only messages sent before the command started are redriven. It is safe to
interrupt and repeat the command.

Exit status: 0 on success, 1 on failure or if another program hid messages, 2
for a usage error, 130 if interrupted.
`,
  examples: [
    'redrive ingress --reason unknown_queue --queue ordrs --to-queue orders',
    'redrive delivery --since 2h --limit 100 --json',
    'redrive undeliverable --queue orders --since 1d',
  ],
  run: async ({ options, terminal, refuse }, which: RedrivenQueue) => {
    const { since, limit, dryRun = false, toQueue, evenUnmatched } = options;
    const isForIngress = [toQueue, evenUnmatched].some((given) => given !== undefined);
    if (isForIngress && which !== 'ingress')
      refuse('--to-queue and --even-unmatched are for redrive ingress');
    const startedAt = Date.now();
    const access = await openDeadLetters(options, terminal);
    if (options.json !== true && !dryRun) terminal.printError(`→ ${printable(access.place)}`);
    if (toQueue !== undefined) await requireQueue(await access.api(), toQueue);
    const chosen = { startedAt, since, limit, dryRun, toQueue, evenUnmatched };
    const run = { which, access, what: 'The redrive', done: 'redriven' };
    const outcome = await runOverChosen(run, pickFilter(options), terminal, (request) =>
      redriveDeadLetters(access, which, { ...request, ...chosen }),
    );
    const { handled: redriven, settled } = outcome;
    const counts = { redriven, ...(which === 'undeliverable' && { settled: sumOfCounts(settled) }) };
    terminal.exitStatus = chooseExitStatus(outcome);
    return [
      { queue: which, ...counts, ...asJson(outcome, dryRun) },
      () => describeOutcome(which, outcome, { done: 'redriven', deployment: access.name, dryRun }),
    ];
  },
});
