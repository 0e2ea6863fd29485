import * as z from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { operation } from '../../../api-client/api-client.ts';
import type { ConsoleInfo } from '../../../shared/wire/views/console.ts';
import { adviceFor, ApiRefusal } from '../../../api-client/refusal.ts';
import { type ApiAccess, CredentialsProblem, findApi } from '../../api/api-access.ts';
import { apiClient } from '../../api/open-api.ts';
import { COMMAND } from '../../../local/command-name.ts';
import { type DeadLetterAccess, openDeadLetters } from '../../dead-letters/dead-letter-access.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import { failureText } from '../../failure-report.ts';
import type { Terminal } from '../../terminal.ts';

/** The deployment that the console shows, or the reason for its absence. `deadLetters` throws if only the API is known. */
export type ConsoleTarget =
  | { kind: 'deployment'; access: ApiAccess; deadLetters: () => Promise<DeadLetterAccess> }
  | { kind: 'none'; reason: string };

/** @throws Problem with advice when there is no deployment */
export async function deploymentTarget(
  choice: DeploymentChoice,
  terminal: Pick<Terminal, 'env' | 'sleep'>,
): Promise<ConsoleTarget> {
  const access = await findApi(choice, terminal.env);
  return { kind: 'deployment', access, deadLetters: () => openDeadLetters(choice, terminal) };
}

/** The same poll interval as in `deliveries watch`. */
const POLLING = { floorSeconds: 1, ceilingSeconds: 10, exponent: 2 };

/** The page waits for this response, so the lookup gives up before the API times out. */
const VERSION_WITHIN_MS = 5_000;

const describe = {
  ...operation('GET /v2/openapi.json', z.unknown()),
  schema: z.object({ info: z.object({ version: z.string() }) }),
};

/** The page's description of its deployment. Never fails: `problem` says what could not be determined. */
export async function consoleInfo(target: ConsoleTarget): Promise<ConsoleInfo> {
  const common = { commandVersion: packageJson.version, command: COMMAND, pollInterval: POLLING };
  if (target.kind === 'none') {
    const problem = { code: 'no_deployment', message: target.reason };
    return { ...common, deployment: null, region: null, version: null, isLocal: false, problem };
  }
  const { name, region = null, apiUrl, isLocal } = target.access;
  return { ...common, deployment: name, region, apiUrl, isLocal, ...(await versionOf(target.access)) };
}

/** Reads the version from the API's OpenAPI document. */
async function versionOf(access: ApiAccess): Promise<Pick<ConsoleInfo, 'version' | 'problem'>> {
  try {
    const signal = AbortSignal.timeout(VERSION_WITHIN_MS);
    const { info } = await apiClient(access).call(describe, { signal });
    return { version: info.version };
  } catch (failure) {
    return { version: null, problem: problemOf(failure) };
  }
}

function problemOf(failure: unknown): NonNullable<ConsoleInfo['problem']> {
  if (failure instanceof ApiRefusal)
    return { code: failure.code ?? 'forbidden', message: adviceFor(failure) ?? failure.message };
  const code = failure instanceof CredentialsProblem ? failure.code : 'unreachable';
  return { code, message: failureText(failure) };
}
