import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import * as z from 'zod';

/** The same frames of a stack, with lines of the sources where they had lines of a bundle. */
export type SourcePositions = (frames: string) => string;

/**
 * Looks positions up in the maps that lie beside the files of a bundle, `<file>.map`. A map is read at the first fault in its
 * file and then kept: some 70 ms of processor and 25 MB of heap for 1 MB of bundle, which a start without faults does not
 * pay. Nothing else is ever read, whatever a stack says: the message of an error is in it, which may be anybody's.
 * @param folder URL of the folder of the bundle, as frames have it, with a slash at its end
 */
export function sourcePositions(folder: string): SourcePositions {
  const maps = new Map<string, SourceMap | 'none'>();
  const mapFor = (file: string): SourceMap | 'none' => {
    const map = maps.get(file) ?? mapOf(`${folder}${file}`) ?? 'none';
    maps.set(file, map);
    return map;
  };
  return (frames) => {
    const [start = '', ...rest] = frames.split(folder);
    return start + rest.map((text) => positioned(text, mapFor) ?? `${folder}${text}`).join('');
  };
}

const mapSchema = z.object({
  version: z.literal(3),
  sources: z.array(z.string()),
  names: z.array(z.string()),
  mappings: z.string(),
});

function mapOf(file: string): SourceMap | undefined {
  try {
    const map = mapSchema.parse(JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8')));
    return new SourceMap({ ...map, file: '', sourceRoot: '', sourcesContent: [] });
  } catch {
    // A fault is to be told of, whatever is wrong with a map.
    return undefined;
  }
}

/** Counted from 0. */
const entrySchema = z.object({
  generatedLine: z.number(),
  originalSource: z.string(),
  originalLine: z.number(),
  originalColumn: z.number(),
});

/** A file of a bundle, and line and column, counted from 1. Sources that run as they are end in `.ts`. */
const FRAME = /^([\w-]{1,100}\.mjs):(\d+):(\d+)/;

/** Undefined: not known. */
function positioned(text: string, mapFor: (file: string) => SourceMap | 'none'): string | undefined {
  const [place = '', file = '', line, column] = FRAME.exec(text) ?? [];
  if (file === '') return undefined;
  const map = mapFor(file);
  if (map === 'none') return undefined;
  const { success, data: entry } = entrySchema.safeParse(map.findEntry(Number(line) - 1, Number(column) - 1));
  // A line that no mapping is for is given the last one of the lines before it.
  if (!success || entry.generatedLine !== Number(line) - 1) return undefined;
  const source = entry.originalSource.replace(/^(\.\.\/)+/, '');
  return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}${text.slice(place.length)}`;
}
