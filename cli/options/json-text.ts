/** The value of JSON text. `message`: the fault as the end of a sentence. */
export function parsedJson(text: string): { ok: true; value: unknown } | { ok: false; message: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** JSON members as source text: parsing and serialising them would drop digits of long numbers. */
export type Members = readonly (readonly [name: string, source: string | undefined])[];

/** The source text of an object with these members, without undefined ones. */
export function objectText(members: Members): string {
  return `{${membersText(members).join(',')}}`;
}

/**
 * An object's source text with these members appended; they win, as the last of a duplicate name counts (RFC 8259 §4).
 */
export function withMembers(object: string, members: Members): string {
  const inner = object.trim().slice(1, -1).trim();
  return `{${[...(inner === '' ? [] : [inner]), ...membersText(members)].join(',')}}`;
}

function membersText(members: Members): string[] {
  return members.flatMap(([name, source]) =>
    source === undefined ? [] : [`${JSON.stringify(name)}:${source}`],
  );
}

/** The JSON text of a value. */
export function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
