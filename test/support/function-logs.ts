import { CloudWatchLogsClient, paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { toClientOptions } from '../../local/endpoints.ts';

/**
 * The most events of one response (CloudWatch Logs API, FilterLogEvents). The emulator silently drops the rest.
 */
const MAX_EVENTS = 10_000;

/** Reads every line that functions have logged, including Lambda's lines. */
export const functionLogs = (options: ReturnType<typeof toClientOptions>) => {
  const client = new CloudWatchLogsClient(options);
  const lambda = new LambdaClient(options);

  const logGroupOf = async (FunctionName: string): Promise<string> => {
    const { LoggingConfig } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
    return LoggingConfig?.LogGroup ?? `/aws/lambda/${FunctionName}`;
  };

  const linesOf = async (functionName: string, startTime: number): Promise<string[]> => {
    const logGroupName = await logGroupOf(functionName);
    const lines: string[] = [];
    for await (const { events = [] } of paginateFilterLogEvents({ client }, { logGroupName, startTime })) {
      if (events.length >= MAX_EVENTS) throw new Error(`${logGroupName} has too many lines for one answer`);
      lines.push(...events.map(({ message = '' }) => message));
    }
    return lines;
  };

  /** `since`: milliseconds since the epoch. */
  return async (functions: readonly string[], since = 0): Promise<string[]> => {
    const found = await Promise.all(functions.map((name) => linesOf(name, since)));
    return found.flat();
  };
};
