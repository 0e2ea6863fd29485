import { readdirSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import * as z from 'zod';
import { counted } from '../../../api-client/words.ts';
import { checkSchemaAndExample, eventTypeFields } from '../../../functions/api/event-types/request.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { lazySchemaCheck, lazyValidation } from '../../../shared/adapters/pattern/lazy-validation.ts';
import { EVENT_TYPE_NAME_RULE, isEventTypeName } from '../../../shared/domain/event-type/event-type.ts';
import { isJsonObject } from '../../../shared/domain/json.ts';
import { failureText } from '../../failure-report.ts';
import { notReadable, readInput } from '../../options/input.ts';
import type { Terminal } from '../../terminal.ts';

/** The fields of an event type that the API takes. */
export type Definition = ReturnType<typeof eventTypeFields>;

type Defined = { name: string; definition: Definition };

/**
 * The event types of the JSON and YAML files in a folder and the folders in it, by name, checked as the API does. A type
 * without a name has that of its file.
 * @throws AggregateError of the faulty files, each named
 */
export async function readFolder(folder: string, terminal: Terminal): Promise<Map<string, Definition>> {
  const files = listFiles(folder);
  if (files.length === 0) throw new Problem(`There is no JSON or YAML file in ${folder}.`);
  const found = new Map<string, Definition>();
  const faults: unknown[] = [];
  for (const file of files.sort()) {
    try {
      const { name, definition } = await readDefinition(file, terminal);
      if (found.has(name)) throw new Problem(`${file}: another file defines ${name} as well.`);
      found.set(name, definition);
    } catch (fault) {
      faults.push(fault);
    }
  }
  if (faults.length === 0) return found;
  const count = counted(faults.length, 'file is', 'files are');
  throw new AggregateError(faults, `Nothing was changed, because ${count} faulty:`);
}

/** Hidden files and folders are no part of it. */
function listFiles(folder: string): string[] {
  let entries;
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (cause) {
    throw notReadable(folder, cause);
  }
  return entries
    .filter(({ name }) => !name.startsWith('.'))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return listFiles(path);
      return /\.(?:json|ya?ml)$/.test(entry.name) ? [path] : [];
    });
}

const checks = { checkSchema: lazySchemaCheck(), validateEvent: lazyValidation() };

/** Far more than a schema and an example of the greatest sizes, with comments. */
const MAX_FILE_BYTES = 262_144;

async function readDefinition(file: string, terminal: Terminal): Promise<Defined> {
  const text = await readInput(file, MAX_FILE_BYTES, terminal);
  try {
    const value: unknown = file.endsWith('.json') ? JSON.parse(text) : (await import('yaml')).parse(text);
    if (!isJsonObject(value)) throw new Problem('it is not an object');
    if (!z.json().safeParse(value).success) throw new Problem('it has a value that JSON does not have');
    const { name = basename(file, extname(file)), ...fields } = value;
    if (typeof name !== 'string' || !isEventTypeName(name))
      throw new Problem(`the name of an event type is ${EVENT_TYPE_NAME_RULE}`);
    const definition = eventTypeFields(fields);
    await checkSchemaAndExample(checks, definition);
    return { name, definition };
  } catch (cause) {
    throw new Problem(`${file}: ${failureText(cause)}.`, { cause });
  }
}
