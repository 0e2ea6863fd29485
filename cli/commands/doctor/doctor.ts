import type { Command } from 'commander';
import { counted } from '../../../api-client/words.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { examine } from './examine.ts';
import type { Finding } from './health-findings.ts';

const MORE = `
Checks the deployment, its API, your credentials, the tables, the dead-letter
queues and the reasons in them, the work queues (whether they become empty
within 15 s), overdue retries, and your permissions for redrive. It changes
nothing; its look at the dead letters hides them from others for moments.

Exit status: 0 if every check passes, otherwise 1.
`;

/** `posthaste doctor` */
export function addDoctor(command: Command, terminal: Terminal): void {
  command.action(async (options: DeploymentOptions) => {
    let failing = 0;
    await terminal.untilInterrupted(async (signal) => {
      for await (const finding of examine(options, terminal, signal)) {
        if (!finding.ok) failing += 1;
        if (options.json === true) terminal.printJson(asJson(finding));
        else findingLines(finding).forEach(terminal.print);
      }
    });
    const summary = failing === 0 ? 'All checks passed.' : `${counted(failing, 'check', 'checks')} failed.`;
    if (options.json !== true) terminal.print(summary);
    if (failing > 0) terminal.exitStatus = 1;
  });
  onDeployment(command, {
    json: 'one check per line: check, state, detail, advice',
    more: MORE,
    examples: ['doctor', 'doctor --deployment Posthaste --json'],
  });
}

function asJson({ check, ok, detail, advice }: Finding): object {
  return {
    check,
    state: ok ? 'ok' : 'failing',
    detail,
    ...(advice !== undefined && { advice }),
  };
}

function findingLines({ check, ok, detail, advice }: Finding): string[] {
  return [
    `${ok ? 'ok      ' : 'failing '}  ${check.padEnd(24)}  ${printable(detail)}`,
    ...(advice === undefined ? [] : [`${' '.repeat(10)}→ ${printable(advice)}`]),
  ];
}
