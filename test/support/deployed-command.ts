import { text } from 'node:stream/consumers';
import { runCommand } from '../../cli/run-command.ts';
import { systemSleep } from '../../cli/terminal.ts';
import { awsEnvironment, plainEnvironment } from '../../local/local-aws.ts';
import { captured, replaceSdkVariables, type Run } from '../unit/cli/run-command.ts';
import { deployment } from './deployment.ts';

const { apiUrl, endpoint } = deployment.endpoints;

/** Of a command on the deployed system. The host name of the API does not resolve on the local AWS, so its URL is given. */
export const commandEnvironment = {
  ...plainEnvironment(),
  ...awsEnvironment(endpoint, deployment.endpoints),
  POSTHASTE_API_URL: apiUrl,
};

// For all tests of this process: commands run at the same time, and nothing else reads them.
replaceSdkVariables(commandEnvironment);

/** Runs a command on the deployed system, in this process: a process for each would take longer than its work. */
export const onDeployment = async (...args: string[]): Promise<Omit<Run, 'lines'>> => {
  const host = captured(commandEnvironment);
  host.stdin.end();
  const written = Promise.all([text(host.stdout), text(host.stderr)]);
  const status = await runCommand([...args, '--deployment', 'Posthaste'], host, systemSleep);
  host.stdout.end();
  host.stderr.end();
  const [stdout, stderr] = await written;
  return { status, stdout, stderr };
};
