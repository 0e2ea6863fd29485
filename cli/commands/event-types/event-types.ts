import { writeFileSync } from 'node:fs';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { deleteEventType, getEventType, listEventTypes } from '../../../api-client/operations.ts';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import type { EventTypeView } from '../../../shared/wire/views/event-type.ts';
import { toWebhooksDocument } from '../../../shared/wire/views/webhooks-document.ts';
import { failureText } from '../../failure-report.ts';
import { argument, option, parseEventType, wholeNumber } from '../../options/arguments.ts';
import { deployed, group, requireYes } from '../../options/deployed.ts';
import { printList } from '../../output/list.ts';
import { printable, printableJson } from '../../output/text.ts';
import type { Terminal } from '../../terminal.ts';
import { apply } from './apply.ts';
import { declareEventTypes } from './declarations.ts';

const list = deployed<{ limit?: number }>({
  description: 'List the event types of the catalogue.',
  options: [option('--limit <N>', 'maximum number of event types (default: all)', wholeNumber(1))],
  json: 'one event type per line, as in the API',
  examples: ['event-types list'],
  read: async ({ api, options: { limit, ...options }, terminal }) => {
    await printList(terminal, api.list(listEventTypes, { most: limit }), {
      ...options,
      columns: ['Event type', 'Group', 'State', 'Schema', 'Description'],
      formatRow,
      none: () =>
        `No event type yet. Store a folder of them with ${commandText('event-types apply <folder>')}`,
    });
  },
});

function formatRow({ name, group = '', deprecated, schema, description = '' }: EventTypeView): string[] {
  return [
    name,
    printable(group),
    deprecated === true ? 'deprecated' : '',
    schema === undefined ? '' : 'yes',
    printable(description.split('\n')[0] ?? ''),
  ];
}

const EVENT_TYPE = argument('<type>', 'name of the event type', parseEventType);

const show = deployed({
  description: 'Show an event type, with its schema and example.',
  arguments: [EVENT_TYPE],
  json: 'the event type, as in the API',
  examples: ['event-types show order.created'],
  read: async ({ api }, type) => {
    const view = await api.call(getEventType, { path: { type } });
    return [view, () => printableJson(JSON.stringify(view, undefined, 2))];
  },
});

const remove = deployed<{ yes?: true }>({
  description: 'Delete an event type from the catalogue. Subscriptions and messages stay as they are.',
  arguments: [EVENT_TYPE],
  options: [option('--yes', 'delete the event type without a question')],
  json: 'type',
  examples: ['event-types delete order.created --yes'],
  write: async ({ api, ...given }, type) => {
    await api.call(getEventType, { path: { type } });
    const question = `Delete the event type ${type}?`;
    await requireYes(given, { question, to: `delete ${type}`, ifNot: 'Nothing was deleted.' });
    await api.call(deleteEventType, { path: { type } });
    return [{ type }, () => `Deleted the event type ${type}.`];
  },
});

type OutputOptions = { output?: string; out?: string };

/** `--out` is its name in earlier versions. */
const OUTPUT = [
  option('--output <FILE>', 'write to this file'),
  option('--out <FILE>', 'the same as --output').hideHelp().conflicts('output'),
];

const exported = deployed<OutputOptions>({
  description: 'Print the catalogue as an OpenAPI 3.1 document of webhooks, for subscribers.',
  options: OUTPUT,
  examples: ['event-types export > webhooks.json', 'event-types export --output webhooks.json'],
  read: async ({ api, options, terminal }) => {
    const document = toWebhooksDocument(await readCatalogue(api));
    write(`${JSON.stringify(document, undefined, 2)}\n`, options, terminal);
  },
});

const types = deployed<OutputOptions>({
  description: 'Print TypeScript types of the data of each event type, by its schema.',
  options: OUTPUT,
  more: `
The types are for publishing with posthaste/client:
  new Publisher<EventTypes>({ queueUrl })
`,
  examples: ['event-types types --output src/event-types.ts'],
  read: async ({ api, options, terminal }) => {
    write(declareEventTypes(await readCatalogue(api)), options, terminal);
  },
});

export const eventTypesCommands = group({ list, show, apply, delete: remove, export: exported, types });

async function readCatalogue(api: ApiClient): Promise<EventTypeView[]> {
  return (await api.items(listEventTypes, {})).items;
}

/** Unsafe characters are in strings and comments only. @throws Problem if the file cannot be written */
function write(text: string, { out, output = out }: OutputOptions, terminal: Terminal): void {
  const safe = printableJson(text);
  if (output === undefined) {
    terminal.stdout.write(safe);
    return;
  }
  try {
    writeFileSync(output, safe);
  } catch (cause) {
    throw new Problem(`${output} cannot be written: ${failureText(cause)}.`, { cause });
  }
  terminal.print(`Wrote ${output}.`);
}
