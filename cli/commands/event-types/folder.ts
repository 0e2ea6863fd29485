import { readdirSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import * as z from 'zod';
import { Problem } from '../../../local/install/problem.mjs';
import { EVENT_TYPE_NAME_RULE, isEventTypeName } from '../../../shared/domain/event-type/event-type.ts';
import { failureText } from '../../failure-report.ts';
import { notReadable, readInput } from '../../options/input.ts';
import type { Terminal } from '../../terminal.ts';

/** What a file says about an event type. The API checks it. */
const definitionSchema = z
  .strictObject({
    name: z.string().refine(isEventTypeName, `must be ${EVENT_TYPE_NAME_RULE}`),
    description: z.string(),
    schema: z.record(z.string(), z.json()),
    example: z.json(),
    group: z.string(),
    deprecated: z.boolean(),
    queues: z.array(z.string()),
  })
  .partial();

export type Definition = Omit<z.output<typeof definitionSchema>, 'name'>;

/** An event type of a folder, and the file that defines it. */
export type Defined = { name: string; file: string; definition: Definition };

/**
 * The event types of the JSON and YAML files in a folder and the folders in it, by name. A type without a name has that
 * of its file.
 * @throws Problem that names the file
 */
export async function readFolder(folder: string, terminal: Terminal): Promise<Defined[]> {
  const files = listFiles(folder);
  if (files.length === 0) throw new Problem(`There is no JSON or YAML file in ${folder}.`);
  const found = new Map<string, Defined>();
  for (const file of files) {
    const defined = await readDefinition(file, terminal);
    const other = found.get(defined.name);
    if (other !== undefined) throw new Problem(`${other.file} and ${file} both define ${defined.name}.`);
    found.set(defined.name, defined);
  }
  return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Hidden files and folders are no part of it. */
function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith('.'))
      .flatMap((entry) => {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) return listFiles(path);
        return /\.(?:json|ya?ml)$/.test(entry.name) ? [path] : [];
      });
  } catch (cause) {
    throw cause instanceof Problem ? cause : notReadable(folder, cause);
  }
}

/** Far more than a schema and an example of the greatest sizes, with comments. */
const MAX_FILE_BYTES = 262_144;

async function readDefinition(file: string, terminal: Terminal): Promise<Defined> {
  const parsed = definitionSchema.safeParse(await parseFile(file, terminal));
  if (!parsed.success) throw new Problem(`${file}: ${describeIssue(parsed.error)}.`);
  const { name = basename(file, extname(file)), ...definition } = parsed.data;
  if (!isEventTypeName(name))
    throw new Problem(
      `${file}: name the event type by a field name: that of a file is ${EVENT_TYPE_NAME_RULE}.`,
    );
  return { name, file, definition };
}

async function parseFile(file: string, terminal: Terminal): Promise<unknown> {
  const text = await readInput(file, MAX_FILE_BYTES, terminal);
  try {
    if (file.endsWith('.json')) return JSON.parse(text);
    // Loaded only here: no other command needs it.
    const { parse } = await import('yaml');
    return parse(text);
  } catch (cause) {
    throw new Problem(`${file} cannot be parsed: ${failureText(cause)}.`, { cause });
  }
}

function describeIssue({ issues: [issue] }: z.ZodError): string {
  const field = issue?.path.map(String).join('.') ?? '';
  return `${field === '' ? '' : `${field} `}${issue?.message ?? 'is invalid'}`;
}
