import type { Command } from 'commander';
import { adviceFor } from '../../../api-client/refusal.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { ApiClient, Listed } from '../../../api-client/api-client.ts';
import { calendarTimeOf, windowAround } from '../../../api-client/calendar-time.ts';
import { listQueues } from '../../../api-client/operations.ts';
import { MAX_PER_QUEUE } from '../../../api-client/search.ts';
import { counted } from '../../../api-client/words.ts';
import { findApi } from '../../api/api-access.ts';
import { requireQueue } from '../../api/find-subscription.ts';
import { apiClient } from '../../api/open-api.ts';
import { idOf, queueOf, ageOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import {
  absenceText,
  knownOfAbsent,
  queuesText,
  type Absence,
  search,
  type Finding,
  type Searched,
  type Window,
} from './search.ts';

type Options = DeploymentOptions & { queue?: string };

const MORE = `
Looks in all queues for a message with this id, and for subscriptions whose id
starts with the text or whose name or URL contains it. For a time, such as
2026-11-22T14:00 (or with a blank for the T), it lists messages accepted within
five minutes of it; for a date, those of that day; for an age, such as 2h, those
accepted since; also a message with that id. At most ${MAX_PER_QUEUE} of a kind per queue.

Exit status: 0 if anything was found, otherwise 1.
`;

/** `posthaste find` */
export function addFind(command: Command, terminal: Terminal): void {
  command
    .argument(
      '<what>',
      'a message id, a part of a URL or name, the start of a subscription id, or a time',
      idOf,
    )
    .option('--queue <QUEUE>', 'look only in this queue', queueOf)
    .action(async (what: string, options: Options) => {
      const api = apiClient(await findApi(options, terminal.env), terminal.sleep);
      const { items: queues, more } = await queuesToSearch(api, options);
      const limit = { queues: queues.length, ...(more && { moreQueues: true as const }) };
      if (more) terminal.printError(`Looks only in ${queuesText(limit)}.`);
      const window = windowOf(what);
      const { findings, cuts, failed } = await search(api, queues, what, window);
      const json = options.json === true;
      printFindings(findings, json, terminal);
      cuts.forEach(terminal.printError);
      failedLines(failed).forEach(terminal.printError);
      if (findings.length > 0) return;
      terminal.exitStatus = 1;
      if (options.queue !== undefined) await requireQueue(api, options.queue);
      const absence = { ...limit, ...(failed.count > 0 && { notSearched: failed.count }) };
      await printAbsence(api, { what, window, absence, json }, terminal);
    });
  onDeployment(command, {
    json: 'one finding per line: kind, queue, id, text, next; or found 0, queues, moreQueues, notSearched, retentionDays, ingress, delayed, deadLetters',
    more: MORE,
    examples: ['find order-55', 'find acme.example --queue orders', 'find 2026-11-22T14:00', 'find 2h'],
  });
}

function failedLines({ count, reason }: Searched['failed']): string[] {
  if (reason === undefined) return [];
  const advice = adviceFor(reason);
  const counts = counted(count, 'queue', 'queues');
  return [
    `${counts} could not be searched: ${printable(reason.message)}`,
    ...(advice === undefined ? [] : [advice]),
  ];
}

function printFindings(findings: readonly Finding[], json: boolean, terminal: Terminal): void {
  for (const finding of findings) {
    if (json) terminal.printJson(finding);
    else findingLines(finding).forEach(terminal.print);
  }
}

async function printAbsence(
  api: ApiClient,
  {
    what,
    window,
    absence,
    json,
  }: { what: string; window: Window | undefined; absence: Absence; json: boolean },
  terminal: Terminal,
): Promise<void> {
  const known = { ...absence, ...(window ?? (await knownOfAbsent(api))) };
  if (json) terminal.printJson({ found: 0, ...known });
  else if (window === undefined) terminal.print(absenceText(what, known));
  else
    terminal.print(
      `No message was accepted from ${clockTime(window.since)} to ${clockTime(window.until)}, and none has the id ${printable(what)}.`,
    );
}

/** More than this many queues would take minutes: --queue is needed then. */
const MAX_QUEUES = 1_000;

async function queuesToSearch(api: ApiClient, { queue }: Options): Promise<Listed<string>> {
  if (queue !== undefined) return { items: [queue], more: false };
  const { items, more } = await api.items(listQueues, { most: MAX_QUEUES });
  return { items: items.map(({ name }) => name), more };
}

/** The window around a time, of a whole day, or since an age; undefined for other texts. */
function windowOf(what: string, now = Date.now()): Window | undefined {
  const age = ageOf(what);
  if (age !== undefined) return { since: timeText(now - age * 1000), until: timeText(now) };
  const time = calendarTimeOf(what);
  if (time === undefined) return undefined;
  const { since, until } = windowAround(time);
  return { since: timeText(since), until: timeText(until) };
}

function findingLines({ kind, queue, id, text, next }: Finding): string[] {
  return [`${kind} ${printable(id)} of queue ${queue}, ${printable(text)}`, `  → ${printable(next)}`];
}
