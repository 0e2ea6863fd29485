import { App } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { createStacks } from './deployment.ts';

/**
 * The findings of cdk-nag's rules for AWS solutions in the stacks of these settings, except acknowledged ones. Checks
 * the constructs without synthesising them.
 * @throws SettingsError
 */
export function securityFindings(
  settings: Readonly<Record<string, unknown>>,
  context: Readonly<Record<string, unknown>>,
): readonly string[] {
  const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } });
  createStacks(app, settings);
  return new AwsSolutionsChecks(app)
    .validateScope(app)
    .violations.flatMap(({ ruleName, description, violatingResources }) =>
      violatingResources.map(({ constructPath = '' }) => `${constructPath}: ${ruleName}, ${description}`),
    );
}
