import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../../settings.ts';
import { acknowledgeWildcard } from '../findings.ts';
import { createAlarm, errorsAlarm, faultsAlarm } from '../monitoring/alarm.ts';
import { posthasteMetrics } from '../monitoring/posthaste-metrics.ts';
import { ALIAS, type NodeFunction } from './node-function.ts';

const CONFIGURATIONS = {
  5: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
  10: LambdaDeploymentConfig.CANARY_10PERCENT_10MINUTES,
  15: LambdaDeploymentConfig.CANARY_10PERCENT_15MINUTES,
  30: LambdaDeploymentConfig.CANARY_10PERCENT_30MINUTES,
} as const;

export interface GradualUpgradesProps {
  readonly settings: DeploymentSettings;
  readonly minutes: keyof typeof CONFIGURATIONS;
  /** By the names that their alarms begin with. */
  readonly functions: Readonly<Record<string, NodeFunction>>;
}

/**
 * Moves the aliases of functions to new versions by CodeDeploy: a tenth of the invocations first. If an alarm is raised
 * before the rest, the alias goes back, and with it the update of the stack (docs/operations.md#upgrade).
 */
export class GradualUpgrades extends Construct {
  constructor(scope: Construct, id: string, { settings, minutes, functions }: GradualUpgradesProps) {
    super(scope, id);
    const application = new LambdaApplication(this, 'Application');
    const role = createRole(this, Object.values(functions));
    // Shows most defects of a version, because failed records are no errors of Lambda's.
    const metricOf = posthasteMetrics(settings.deployment);
    const faults = createAlarm(this, 'UpgradeFaults', settings, faultsAlarm(metricOf));
    for (const [name, { alias }] of Object.entries(functions)) {
      const errors = createAlarm(this, `${name}UpgradeErrors`, settings, errorsAlarm(name, alias));
      const group = new LambdaDeploymentGroup(this, name, {
        application,
        alias,
        alarms: [errors, faults],
        // Keeps CDK from adding AWS's managed policy, which is for all functions and reads objects of any bucket.
        role: role.withoutPolicyUpdates(),
        deploymentConfig: CONFIGURATIONS[minutes],
      });
      // With its policy.
      group.node.addDependency(role);
    }
  }
}

/** For these functions what AWSCodeDeployRoleForLambdaLimited allows for all. */
function createRole(scope: Construct, functions: readonly NodeFunction[]): Role {
  const role = new Role(scope, 'Role', {
    description: 'Lets CodeDeploy move the aliases of Posthaste to new versions',
    assumedBy: new ServicePrincipal('codedeploy.amazonaws.com'),
  });
  role.addToPolicy(
    new PolicyStatement({
      actions: ['lambda:GetAlias', 'lambda:GetProvisionedConcurrencyConfig', 'lambda:UpdateAlias'],
      resources: functions.flatMap(({ lambda: { functionArn } }) => [functionArn, `${functionArn}:${ALIAS}`]),
    }),
  );
  role.addToPolicy(new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }));
  acknowledgeWildcard(
    role,
    '*',
    'CodeDeploy reads the state of alarms, as in the policy that AWS has for it.',
  );
  return role;
}
