import { CloudWatchLogsClient, paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { deployment } from './deployment.ts';

const client = new CloudWatchLogsClient(deployment.client);

/**
 * The most events of one response (CloudWatch Logs API, FilterLogEvents). The emulator silently drops the rest.
 */
const MOST_EVENTS = 10_000;

/**
 * Every line that functions of the deployed system have logged, including Lambda's lines. `since`: milliseconds
 * since the epoch.
 */
export const logLines = async (functions: readonly string[], since = 0): Promise<string[]> => {
  const found = await Promise.all(functions.map((name) => linesOf(name, since)));
  return found.flat();
};

const linesOf = async (functionName: string, startTime: number): Promise<string[]> => {
  const logGroupName = await logGroupOf(functionName);
  const lines: string[] = [];
  for await (const { events = [] } of paginateFilterLogEvents({ client }, { logGroupName, startTime })) {
    if (events.length >= MOST_EVENTS) throw new Error(`${logGroupName} has too many lines for one answer`);
    lines.push(...events.map(({ message = '' }) => message));
  }
  return lines;
};

const logGroupOf = async (FunctionName: string): Promise<string> => {
  const { LoggingConfig } = await deployment.lambda.send(
    new GetFunctionConfigurationCommand({ FunctionName }),
  );
  return LoggingConfig?.LogGroup ?? `/aws/lambda/${FunctionName}`;
};
