import { CfnQueryDefinition } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Pipeline } from '../pipeline.ts';
import { queries, type LogQuery } from './queries.ts';

export interface SavedQueriesProps {
  readonly deployment: string;
  readonly pipeline: Pipeline;
}

/** Questions to the logs, in CloudWatch under Logs Insights, Saved queries, in a folder by the deployment's name. */
export class SavedQueries extends Construct {
  constructor(scope: Construct, id: string, { deployment, pipeline }: SavedQueriesProps) {
    super(scope, id);
    for (const query of Object.values(queries)) {
      new CfnQueryDefinition(this, query.id, {
        name: `${deployment}/${query.name}`,
        logGroupNames: logGroupsOf(query, pipeline),
        queryString: textOf(query),
      });
    }
  }
}

export function logGroupsOf({ of }: LogQuery, pipeline: Pipeline): string[] {
  return of.map((name) => pipeline[name].logGroupName);
}

export function textOf({ lines }: LogQuery): string {
  return lines.join('\n| ');
}
