import type { Command } from 'commander';
import { untilInterrupted } from '../../interruption.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printJson } from '../../output/json-lines.ts';
import { printable } from '../../output/printable.ts';
import { examine } from './examine.ts';
import type { Finding } from './finding.ts';

const MORE = `
Looks at: the deployment, its API, your credentials, the tables, the dead letters, the queues (for up to 15 s, whether they get
empty), overdue retries, and your access to the dead-letter queues. It changes nothing.

Exit status: 0 when all is well, 1 when something is failing.
`;

/** `posthaste doctor` */
export const addDoctor = (command: Command): void => {
  command.action(async (options: DeploymentOptions) => {
    let failing = 0;
    await untilInterrupted(async (signal) => {
      for await (const finding of examine(options, signal)) {
        if (!finding.ok) failing += 1;
        if (options.json === true) printJson(asJson(finding));
        else printFinding(finding);
      }
    });
    if (options.json !== true) console.log(failing === 0 ? 'All is well.' : `${failing} failing.`);
    if (failing > 0) process.exitCode = 1;
  });
  onDeployment(command, {
    json: 'one check a line: check, state, detail, advice',
    more: MORE,
    examples: ['doctor', 'doctor --deployment Posthaste --json'],
  });
};

const asJson = ({ check, ok, detail, advice }: Finding): object => ({
  check,
  state: ok ? 'ok' : 'failing',
  detail,
  ...(advice !== undefined && { advice }),
});

const printFinding = ({ check, ok, detail, advice }: Finding): void => {
  console.log(`${ok ? 'ok      ' : 'failing '}  ${check.padEnd(24)}  ${printable(detail)}`);
  if (advice !== undefined) console.log(`${' '.repeat(10)}→ ${printable(advice)}`);
};
