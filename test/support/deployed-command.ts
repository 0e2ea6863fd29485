import { execFile } from 'node:child_process';
import { projectNode, projectRoot } from '../../local/install/paths.mjs';
import { awsEnvironment, plainEnvironment } from '../../local/local-aws.ts';
import { deployment } from './deployment.ts';

const { apiUrl, endpoint } = deployment.endpoints;

/** Of a command on the deployed system. The host name of the API does not resolve on the local AWS, so its URL is given. */
export const commandEnvironment = {
  ...plainEnvironment(),
  ...awsEnvironment(endpoint, deployment.endpoints),
  POSTHASTE_API_URL: apiUrl,
};

/** Runs a command on the deployed system as a process. */
export const runCommand = (...args: string[]): Promise<{ status: unknown; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const command = ['cli/posthaste.mjs', ...args, '--deployment', 'Posthaste'];
    const options = { cwd: projectRoot, env: commandEnvironment };
    execFile(projectNode, command, options, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : error.code, stdout, stderr });
    });
  });
