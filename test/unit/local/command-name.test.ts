import { describe, expect, it } from 'vitest';
import { commandName } from '../../../local/command-name.ts';

describe('the command in advice', () => {
  it.each([
    { packaged: false, program: '/usr/local/bin/posthaste', command: 'posthaste' },
    { packaged: true, program: '/usr/local/bin/posthaste', command: 'posthaste' },
    {
      packaged: false,
      program: '/home/me/posthaste/cli/posthaste.mjs',
      command: 'npm run -s posthaste --',
    },
    { packaged: true, program: '/home/me/app/node_modules/.bin/posthaste', command: 'npx posthaste' },
    { packaged: true, program: undefined, command: 'npx posthaste' },
  ])('is one that can be pasted: $command for $program', ({ program, packaged, command }) => {
    expect(commandName(program, packaged)).toBe(command);
  });
});
