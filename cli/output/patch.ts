import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';

/** A change of the text of a name or path; empty if there is none. */
export type Patch = { name: string; before: string; after: string };

export function formatPatch({ name, before, after }: Patch): string {
  const [from, to] = [before === '' ? '/dev/null' : `a/${name}`, after === '' ? '/dev/null' : `b/${name}`];
  const options = { headerOptions: FILE_HEADERS_ONLY };
  return createTwoFilesPatch(from, to, before, after, undefined, undefined, options);
}
