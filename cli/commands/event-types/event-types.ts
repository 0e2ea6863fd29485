import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { deleteEventType, getEventType, listEventTypes } from '../../../api-client/operations.ts';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import type { EventTypeView } from '../../../shared/wire/views/event-type.ts';
import { toWebhooksDocument } from '../../../shared/wire/views/webhooks-document.ts';
import { openApi, openApiToWrite } from '../../api/api-access.ts';
import { failureText } from '../../failure-report.ts';
import { parseEventType, wholeNumber } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { printable, printableJson } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { addEventTypesApply } from './apply.ts';
import { declareEventTypes } from './declarations.ts';

export function addEventTypesCommands(eventTypes: Command, terminal: Terminal): void {
  addEventTypesList(eventTypes, terminal);
  addEventTypesShow(eventTypes, terminal);
  addEventTypesApply(eventTypes, terminal);
  addEventTypesDelete(eventTypes, terminal);
  addEventTypesExport(eventTypes, terminal);
  addEventTypesTypes(eventTypes, terminal);
}

/** `posthaste event-types list` */
function addEventTypesList(eventTypes: Command, terminal: Terminal): void {
  const command = eventTypes
    .command('list')
    .description('List the event types of the catalogue.')
    .option('--limit <N>', 'maximum number of event types (default: all)', wholeNumber(1))
    .action(async ({ limit, ...options }: DeploymentOptions & { limit?: number }) => {
      const api = await openApi(options, terminal);
      await printList(terminal, api.list(listEventTypes, { most: limit }), {
        ...options,
        columns: ['Event type', 'Group', 'State', 'Schema', 'Description'],
        formatRow,
        none: () =>
          `No event type yet. Store a folder of them with ${commandText('event-types apply <folder>')}`,
      });
    });
  onDeployment(command, {
    json: 'one event type per line, as in the API',
    examples: ['event-types list'],
  });
}

function formatRow({ name, group = '', deprecated, schema, description = '' }: EventTypeView): string[] {
  return [
    name,
    printable(group),
    deprecated === true ? 'deprecated' : '',
    schema === undefined ? '' : 'yes',
    printable(description.split('\n')[0] ?? ''),
  ];
}

/** `posthaste event-types show` */
function addEventTypesShow(eventTypes: Command, terminal: Terminal): void {
  const command = eventTypes
    .command('show')
    .description('Show an event type, with its schema and example.')
    .argument('<type>', 'name of the event type', parseEventType)
    .action(async (type: string, options: DeploymentOptions) => {
      const api = await openApi(options, terminal);
      const view = await api.call(getEventType, { path: { type } });
      terminal.printResult(options, view, () => printableJson(JSON.stringify(view, undefined, 2)));
    });
  onDeployment(command, {
    json: 'the event type, as in the API',
    examples: ['event-types show order.created'],
  });
}

/** `posthaste event-types delete` */
function addEventTypesDelete(eventTypes: Command, terminal: Terminal): void {
  const command = eventTypes
    .command('delete')
    .description('Delete an event type from the catalogue. Subscriptions and messages stay as they are.')
    .argument('<type>', 'name of the event type', parseEventType)
    .option('--yes', 'delete the event type without a question')
    .action(async (type: string, { yes, ...options }: DeploymentOptions & { yes?: true }) => {
      const api = await openApiToWrite(options, terminal);
      const path = { type };
      await api.call(getEventType, { path });
      if (yes !== true) {
        const isConfirmed = await terminal.confirm(`Delete the event type ${type}?`);
        if (isConfirmed === undefined) return command.error(`error: to delete ${type}, add --yes`);
        if (!isConfirmed) throw new Problem('Nothing was deleted.');
      }
      await api.call(deleteEventType, { path });
      terminal.printResult(options, path, () => `Deleted the event type ${type}.`);
    });
  onDeployment(command, { json: 'type', examples: ['event-types delete order.created --yes'] });
}

type OutOptions = DeploymentOptions & { out?: string };

/** `posthaste event-types export` */
function addEventTypesExport(eventTypes: Command, terminal: Terminal): void {
  const command = eventTypes
    .command('export')
    .description('Print the catalogue as an OpenAPI 3.1 document of webhooks, for subscribers.')
    .option('--out <FILE>', 'write it to this file')
    .action(async (options: OutOptions) => {
      const document = toWebhooksDocument(await readCatalogue(options, terminal));
      write(`${JSON.stringify(document, undefined, 2)}\n`, options, terminal);
    });
  onDeployment(command, {
    examples: ['event-types export > webhooks.json', 'event-types export --out webhooks.json'],
  });
}

const TYPES_MORE = `
The types are for publishing with posthaste/client:
  new Publisher<EventTypes>({ queueUrl })
`;

/** `posthaste event-types types` */
function addEventTypesTypes(eventTypes: Command, terminal: Terminal): void {
  const command = eventTypes
    .command('types')
    .description('Print TypeScript types of the data of each event type, by its schema.')
    .option('--out <FILE>', 'write them to this file')
    .action(async (options: OutOptions) => {
      write(declareEventTypes(await readCatalogue(options, terminal)), options, terminal);
    });
  onDeployment(command, {
    more: TYPES_MORE,
    examples: ['event-types types --out src/event-types.ts'],
  });
}

async function readCatalogue(options: OutOptions, terminal: Terminal): Promise<EventTypeView[]> {
  const api = await openApi(options, terminal);
  return (await api.items(listEventTypes, {})).items;
}

/** Unsafe characters are in strings and comments only. @throws Problem if the file cannot be written */
function write(text: string, { out }: OutOptions, terminal: Terminal): void {
  const safe = printableJson(text);
  if (out === undefined) {
    terminal.stdout.write(safe);
    return;
  }
  try {
    writeFileSync(out, safe);
  } catch (cause) {
    throw new Problem(`${out} cannot be written: ${failureText(cause)}.`, { cause });
  }
  terminal.print(`Wrote ${out}.`);
}
