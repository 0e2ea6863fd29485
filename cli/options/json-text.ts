/** What a user gave as JSON goes on as it was written: printed anew, long numbers would lose digits. */
export type Members = readonly (readonly [name: string, source: string | undefined])[];

/** The source text of an object with these members; those without a value are left out. */
export function objectText(members: Members): string {
  return `{${membersText(members).join(',')}}`;
}

/** An object's source text with these members put over it: of several with one name the last counts (RFC 8259 §4). */
export function withMembers(object: string, members: Members): string {
  const inner = object.trim().slice(1, -1).trim();
  return `{${[...(inner === '' ? [] : [inner]), ...membersText(members)].join(',')}}`;
}

function membersText(members: Members): string[] {
  return members.flatMap(([name, source]) =>
    source === undefined ? [] : [`${JSON.stringify(name)}:${source}`],
  );
}

/** For a value that is not JSON yet. */
export function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
