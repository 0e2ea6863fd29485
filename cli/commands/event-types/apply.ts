import type { Command } from 'commander';
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { deleteEventType, listEventTypes, putEventType } from '../../../api-client/operations.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { counted } from '../../../api-client/words.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { canonicalJson } from '../../../shared/domain/json.ts';
import type { EventTypeView } from '../../../shared/wire/views/event-type.ts';
import { openApi, openApiToWrite } from '../../api/api-access.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printable, printableJson } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { type Defined, type Definition, readFolder } from './folder.ts';

type Options = DeploymentOptions & { yes?: true; dryRun?: true; prune?: true };

const MORE = `
Reads each .json, .yaml and .yml file in the folder and the folders in it. A
file is one event type, with the fields of the API: description, schema,
example, group, deprecated, queues. Its name is the field name, or that of the
file. Shows what changes and asks; without a terminal to ask on, it requires
--yes. If nothing changes, it does not ask.

A refused event type does not stop the others, but then none is deleted.

Exit status: 0 if the folder was applied or nothing changes, otherwise 1.
`;

/** `posthaste event-types apply` */
export function addEventTypesApply(eventTypes: Command, terminal: Terminal): void {
  const command = eventTypes
    .command('apply')
    .description('Make the catalogue of event types as the files of a folder say.')
    .argument('<folder>', 'folder of JSON or YAML files, one event type each')
    .option('--dry-run', 'change nothing, and show what would change')
    .option('--prune', 'also delete the event types that the folder lacks')
    .option('--yes', 'change the catalogue without a question')
    .action(async (folder: string, options: Options) => {
      const defined = await readFolder(folder, terminal);
      const api = await (options.dryRun === true ? openApi : openApiToWrite)(options, terminal);
      const { items } = await api.items(listEventTypes, {});
      const plan = planChanges(defined, items, options.prune === true);
      if (options.json !== true) for (const change of plan.changes) terminal.print(formatPatch(change));
      const isApplied = options.dryRun !== true && plan.changes.length > 0;
      if (isApplied && options.yes !== true) await confirm(command, plan, terminal);
      const result = isApplied ? await apply(api, plan.changes) : { done: plan.changes, refused: [] };
      if (result.refused.length > 0) terminal.exitStatus = 1;
      report(plan, result, options, terminal);
    });
  onDeployment(command, {
    json: 'created, replaced and deleted with the names, refused with name and error, kept, unchanged, dryRun',
    more: MORE,
    examples: ['event-types apply event-types --dry-run', 'event-types apply event-types --prune --yes'],
  });
}

async function confirm(command: Command, { changes }: Plan, terminal: Terminal): Promise<void> {
  const counts = countKinds(changes, (kind) => `to ${kind}`);
  const isConfirmed = await terminal.confirm(`Event types: ${counts}. Change the catalogue?`);
  if (isConfirmed === undefined) command.error(`error: ${counts}; add --yes to change the catalogue`);
  if (!isConfirmed) throw new Problem('Nothing was changed.');
}

const KINDS = { create: 'created', replace: 'replaced', delete: 'deleted' } as const;

type Kind = 'create' | 'replace' | 'delete';

/** `before` and `after`: the definitions as text, empty if there is none. `definition`: absent to delete the type. */
type Change = { kind: Kind; name: string; before: string; after: string; definition?: Definition };

/** `kept`: what the folder lacks, without `--prune`. */
type Plan = { changes: Change[]; unchanged: number; kept: string[] };

function planChanges(defined: readonly Defined[], stored: readonly EventTypeView[], prune: boolean): Plan {
  const texts = new Map(stored.map((view) => [view.name, definitionText(view)]));
  const changes = defined.flatMap(({ name, definition }): Change[] => {
    const [before, after] = [texts.get(name) ?? '', definitionText(definition)];
    const kind = before === '' ? 'create' : 'replace';
    return before === after ? [] : [{ kind, name, before, after, definition }];
  });
  const named = new Set(defined.map(({ name }) => name));
  const lacking = [...texts].filter(([name]) => !named.has(name));
  const deletions = lacking.map(([name, before]): Change => ({ kind: 'delete', name, before, after: '' }));
  return {
    changes: [...changes, ...(prune ? deletions : [])],
    unchanged: defined.length - changes.length,
    kept: prune ? [] : lacking.map(([name]) => name),
  };
}

type Comparable = { [Field in keyof Definition]: unknown };

/** Sorted, because a store need not keep the order of names. Not deprecated is the default. */
function definitionText({ description, schema, example, group, deprecated, queues }: Comparable): string {
  const given = { description, schema, example, group, queues, ...(deprecated === true && { deprecated }) };
  return `${printableJson(canonicalJson(given, 2))}\n`;
}

function formatPatch({ name, before, after }: Change): string {
  const [from, to] = [before === '' ? '/dev/null' : `a/${name}`, after === '' ? '/dev/null' : `b/${name}`];
  const options = { headerOptions: FILE_HEADERS_ONLY };
  return createTwoFilesPatch(from, to, before, after, undefined, undefined, options);
}

/** Requests at a time. */
const SIDE_BY_SIDE = 5;

/** `refused`: what the API does not accept, with the reasons. */
type Result = { done: readonly Change[]; refused: readonly { name: string; error: string }[] };

/** Stores, then deletes, unless a type was refused: it may be the new name of another. @throws ApiRefusal except 400 */
async function apply(api: ApiClient, changes: readonly Change[]): Promise<Result> {
  const refusals = new Map<string, string>();
  await inParallel(changes, SIDE_BY_SIDE, async ({ name, definition }) => {
    if (definition === undefined) return;
    await api.call(putEventType, { path: { type: name }, body: definition }).catch((error: unknown) => {
      if (!(error instanceof ApiRefusal) || error.status !== 400) throw error;
      refusals.set(name, error.message);
    });
  });
  const deletions = refusals.size > 0 ? [] : changes.filter(({ kind }) => kind === 'delete');
  await inParallel(deletions, SIDE_BY_SIDE, ({ name }) =>
    api.call(deleteEventType, { path: { type: name } }),
  );
  const stored = changes.filter(({ kind, name }) => kind !== 'delete' && !refusals.has(name));
  return {
    done: [...stored, ...deletions],
    refused: [...refusals].map(([name, error]) => ({ name, error })),
  };
}

function report(
  { changes, unchanged, kept }: Plan,
  { done, refused }: Result,
  { json, dryRun }: Options,
  terminal: Terminal,
): void {
  if (json === true) {
    const named = Object.entries(KINDS).map(([kind, word]) => [
      word,
      done.filter((one) => one.kind === kind).map(({ name }) => name),
    ]);
    terminal.printJson({ ...Object.fromEntries(named), refused, kept, unchanged, ...(dryRun && { dryRun }) });
    return;
  }
  for (const { name, error } of refused) terminal.printError(`${name} was refused: ${printable(error)}`);
  const counts = countKinds(done, (kind) => (dryRun === true ? `to ${kind}` : KINDS[kind]));
  terminal.print(
    changes.length === 0
      ? `Nothing changes: ${counted(unchanged, 'event type is', 'event types are')} as in the folder.`
      : `Event types: ${counts}, ${unchanged} unchanged.`,
  );
  if (kept.length > 0)
    terminal.print(
      `The folder lacks ${counted(kept.length, 'event type', 'event types')}: --prune deletes them.`,
    );
}

function countKinds(changes: readonly Change[], format: (kind: Kind) => string): string {
  const kinds = ['create', 'replace', 'delete'] as const;
  return kinds
    .map((kind) => `${changes.filter((one) => one.kind === kind).length} ${format(kind)}`)
    .join(', ');
}
