/**
 * A regular expression of a JSON Schema, ready to test text, or why it is refused. A test takes time proportional to `size`
 * and the length of the text.
 */
export type CompiledPattern =
  | { ok: true; size: number; test: (text: string) => boolean }
  | { ok: false; message: string };

/** Compiles the `pattern` of a JSON Schema. Not anchored, as the standard says. */
export type CompilePattern = (source: string) => CompiledPattern;
