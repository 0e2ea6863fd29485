import { vi } from 'vitest';
import * as z from 'zod';

const lineSchema = z.record(z.string(), z.unknown());

/** Captures the output of the process line by line until the mocks are restored. */
export const captureOutput = () => {
  const lines: string[] = [];
  const keep = (chunk: unknown): boolean => {
    lines.push(...String(chunk).split('\n').filter(Boolean));
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  return {
    /** The lines as text. */
    lines,
    /** The lines parsed as JSON. */
    parsed: () => lines.map((line) => lineSchema.parse(JSON.parse(line))),
  };
};
