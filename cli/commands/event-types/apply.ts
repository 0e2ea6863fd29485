import type { ApiClient } from '../../../api-client/api-client.ts';
import { deleteEventType, listEventTypes, putEventType } from '../../../api-client/operations.ts';
import { counted } from '../../../api-client/words.ts';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { canonicalJson } from '../../../shared/domain/json.ts';
import type { EventTypeView } from '../../../shared/wire/views/event-type.ts';
import { openApi, openApiToWrite } from '../../api/api-access.ts';
import { argument, option } from '../../options/arguments.ts';
import { deployed, requireYes } from '../../options/deployed.ts';
import { formatPatch, type Patch } from '../../output/patch.ts';
import { printableJson } from '../../output/text.ts';
import { type Definition, readFolder } from './folder.ts';

type Options = { yes?: true; dryRun?: true; prune?: true };

/** `posthaste event-types apply` */
export const apply = deployed<Options>({
  description: 'Make the catalogue of event types as the files of a folder say.',
  arguments: [argument('<folder>', 'folder of JSON or YAML files, one event type each')],
  options: [
    option('--dry-run', 'change nothing, and show what would change'),
    option('--prune', 'also delete the event types that the folder lacks'),
    option('--yes', 'change the catalogue without a question'),
  ],
  json: 'created, replaced, deleted and kept with the names, unchanged, dryRun',
  more: `
Reads each .json, .yaml and .yml file in the folder and the folders in it. A
file is one event type, with the fields of the API: description, schema,
example, group, deprecated, queues. Its name is the field name, or that of the
file. Shows what changes and asks; without a terminal to ask on, it requires
--yes. If nothing changes, it does not ask.
`,
  examples: ['event-types apply event-types --dry-run', 'event-types apply event-types --prune --yes'],
  run: async (given, folder) => {
    const { options, terminal } = given;
    const defined = await readFolder(folder, terminal);
    const api = await (options.dryRun === true ? openApi : openApiToWrite)(options, terminal);
    const { items } = await api.items(listEventTypes, {});
    const plan = planChanges(defined, items, options.prune === true);
    if (options.json !== true) for (const change of plan.changes) terminal.print(formatPatch(change));
    if (options.dryRun !== true && plan.changes.length > 0) {
      const question = `Event types: ${countKinds(plan.changes, (kind) => `to ${kind}`)}. Change the catalogue?`;
      await requireYes(given, { question, to: 'change the catalogue', ifNot: 'Nothing was changed.' });
      await store(api, plan.changes);
    }
    return [toResult(plan, options), () => describePlan(plan, options)];
  },
});

const KINDS = ['create', 'replace', 'delete'] as const;

type Kind = (typeof KINDS)[number];

/** `definition`: absent to delete the type. */
type Change = Patch & { kind: Kind; definition?: Definition };

/** `kept`: what the folder lacks, without `--prune`. */
type Plan = { changes: Change[]; unchanged: number; kept: string[] };

function planChanges(
  defined: ReadonlyMap<string, Definition>,
  stored: readonly EventTypeView[],
  prune: boolean,
): Plan {
  const texts = new Map(stored.map((view) => [view.name, definitionText(view)]));
  const changes = [...defined].flatMap(([name, definition]): Change[] => {
    const [before, after] = [texts.get(name) ?? '', definitionText(definition)];
    const kind = before === '' ? 'create' : 'replace';
    return before === after ? [] : [{ kind, name, before, after, definition }];
  });
  const lacking = [...texts].filter(([name]) => !defined.has(name));
  const deletions = lacking.map(([name, before]): Change => ({ kind: 'delete', name, before, after: '' }));
  return {
    changes: [...changes, ...(prune ? deletions : [])],
    unchanged: defined.size - changes.length,
    kept: prune ? [] : lacking.map(([name]) => name),
  };
}

/** Sorted, because a store need not keep the order of names. Not deprecated is the default. */
function definitionText({ description, schema, example, group, deprecated, queues }: Definition): string {
  const given = { description, schema, example, group, queues, ...(deprecated === true && { deprecated }) };
  return `${printableJson(canonicalJson(given, 2))}\n`;
}

/** Requests at a time. */
const SIDE_BY_SIDE = 5;

/** Stores, then deletes: a failure leaves too much. The same command continues. */
async function store(api: ApiClient, changes: readonly Change[]): Promise<void> {
  await inParallel(changes, SIDE_BY_SIDE, async ({ name, definition: body }) => {
    if (body !== undefined) await api.call(putEventType, { path: { type: name }, body });
  });
  await inParallel(changes, SIDE_BY_SIDE, async ({ name, kind }) => {
    if (kind === 'delete') await api.call(deleteEventType, { path: { type: name } });
  });
}

function toResult({ changes, unchanged, kept }: Plan, { dryRun }: Options): object {
  const listNames = (kind: Kind): string[] =>
    changes.filter((one) => one.kind === kind).map(({ name }) => name);
  const [created, replaced, deleted] = KINDS.map(listNames);
  return { created, replaced, deleted, kept, unchanged, ...(dryRun && { dryRun }) };
}

function describePlan({ changes, unchanged, kept }: Plan, { dryRun }: Options): string {
  const counts = countKinds(changes, (kind) => (dryRun === true ? `to ${kind}` : `${kind}d`));
  return [
    changes.length === 0
      ? `Nothing changes: ${counted(unchanged, 'event type is', 'event types are')} as in the folder.`
      : `Event types: ${counts}, ${unchanged} unchanged.`,
    ...(kept.length === 0
      ? []
      : [`The folder lacks ${counted(kept.length, 'event type', 'event types')}, which --prune deletes.`]),
  ].join('\n');
}

function countKinds(changes: readonly Change[], format: (kind: Kind) => string): string {
  return KINDS.map((kind) => `${changes.filter((one) => one.kind === kind).length} ${format(kind)}`).join(
    ', ',
  );
}
