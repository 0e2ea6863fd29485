import { deployment } from './deployment.ts';
import { functionLogs } from './function-logs.ts';

/**
 * Every line that functions of the deployed system have logged, including Lambda's lines. `since`: milliseconds
 * since the epoch.
 */
export const logLines = functionLogs(deployment.client);
