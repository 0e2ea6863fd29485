import { App } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { placeStacks } from './deployment.ts';
import { parseSettings } from './settings.ts';

/**
 * What cdk-nag's rules for AWS solutions find in the stacks that these settings deploy, apart from what the constructs
 * acknowledge with a reason. It looks at the constructs, so nothing has to be synthesised.
 * @throws SettingsError
 */
export function securityFindings(
  settings: Readonly<Record<string, unknown>>,
  context: Readonly<Record<string, unknown>>,
): readonly string[] {
  const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } });
  placeStacks(app, parseSettings(settings));
  return new AwsSolutionsChecks(app)
    .validateScope(app)
    .violations.flatMap(({ ruleName, description, violatingResources }) =>
      violatingResources.map(({ constructPath = '' }) => `${constructPath}: ${ruleName}, ${description}`),
    );
}
