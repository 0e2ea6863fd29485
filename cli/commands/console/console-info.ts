import * as z from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import type { ConsoleInfo } from '../../../shared/wire/views/console.ts';
import { type ApiAccess, CredentialsProblem } from '../../api/api-access.ts';
import { apiClient } from '../../api/api-client.ts';
import { adviceFor, ApiRefusal } from '../../api/api-refusal.ts';
import { failureText } from '../../failure-text.ts';

/** A deployment, or why there is none. */
export type Surroundings = { kind: 'deployment'; access: ApiAccess } | { kind: 'none'; reason: string };

/** As `deliveries watch` looks. */
const POLLING = { floorSeconds: 1, ceilingSeconds: 10, exponent: 2 };

/** A page waits for this, so it is told without a version sooner than an API gives up. */
const VERSION_WITHIN_MS = 5_000;

const description = z.object({ info: z.object({ version: z.string() }) });

/** What the page knows about where it is. It is always told: what cannot be found out is the `problem`. */
export async function consoleInfo(surroundings: Surroundings): Promise<ConsoleInfo> {
  const common = { commandVersion: packageJson.version, pollInterval: POLLING };
  if (surroundings.kind === 'none') {
    const problem = { code: 'no_deployment', message: surroundings.reason };
    return { ...common, deployment: null, region: null, version: null, isLocal: false, problem };
  }
  const { name, region = null, apiUrl, isLocal } = surroundings.access;
  return {
    ...common,
    deployment: name,
    region,
    apiUrl,
    isLocal,
    ...(await versionOf(surroundings.access)),
  };
}

/** The API's description of itself says it. */
async function versionOf(access: ApiAccess): Promise<Pick<ConsoleInfo, 'version' | 'problem'>> {
  const request = { method: 'GET', path: '/v2/openapi.json' } as const;
  try {
    const signal = AbortSignal.timeout(VERSION_WITHIN_MS);
    const { info } = await apiClient(access).call({ ...request, signal }, description);
    return { version: info.version };
  } catch (failure) {
    return { version: null, problem: problemOf(failure) };
  }
}

function problemOf(failure: unknown): NonNullable<ConsoleInfo['problem']> {
  if (failure instanceof ApiRefusal) {
    return { code: failure.code ?? 'forbidden', message: adviceFor(failure) ?? failure.message };
  }
  const code = failure instanceof CredentialsProblem ? failure.code : 'unreachable';
  return { code, message: failureText(failure) };
}
