import { describe, expect, it } from 'vitest';
import { commandName } from '../../../cli/command-name.ts';

describe('the command in advice', () => {
  it.each([
    ['/usr/local/bin/posthaste', 'posthaste'],
    ['/home/me/posthaste/cli/posthaste.mjs', 'npm run -s posthaste --'],
    [undefined, 'npm run -s posthaste --'],
  ])('is one that can be pasted, for %s', (program, command) => {
    expect(commandName(program)).toBe(command);
  });
});
