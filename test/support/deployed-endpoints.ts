import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEndpoints, type Endpoints } from '../../local/endpoints.ts';
import { pollUntil } from '../../local/poll-until.ts';

/** A deployment takes 15 s; a busy machine needs more. */
const DEPLOYED_WITHIN_MS = 180_000;

/** What deployed-system.ts writes into the folder of the run: the endpoints, or why there are none. */
export const endpointsIn = (folder: string): string => join(folder, 'endpoints.json');
export const failureIn = (folder: string): string => join(folder, 'failure.txt');

/** Waits for the deployed system of this run. @throws Error if it could not be deployed */
export const deployedEndpoints = async (folder: string): Promise<Endpoints> => {
  const look = (): Promise<Endpoints | undefined> => {
    if (existsSync(failureIn(folder))) throw new Error(readFileSync(failureIn(folder), 'utf8'));
    return Promise.resolve(readEndpoints(endpointsIn(folder)));
  };
  const endpoints = await pollUntil(look, {
    withinMs: DEPLOYED_WITHIN_MS,
    interval: { floor: 0.1, ceiling: 0.1 },
  });
  if (endpoints === undefined) throw new Error('The deployment for the tests takes too long.');
  return endpoints;
};
