import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../../settings.ts';
import { chooseRemovalPolicy } from './protection.ts';

/**
 * The KMS key that seals signing secrets and credentials of subscriptions. KMS rotates its material every year and keeps old material, so earlier
 * secrets can still be opened. CDK's default key policy leaves access to IAM.
 */
export class SecretsKey extends Construct {
  readonly arn: string;

  constructor(scope: Construct, id: string, { local, multiRegionKey }: DeploymentSettings) {
    super(scope, id);
    const key = new Key(this, 'Key', {
      description: 'Posthaste: seals the signing secrets of subscriptions',
      enableKeyRotation: true,
      multiRegion: multiRegionKey ? true : undefined,
      // Sealed secrets cannot be opened without it.
      removalPolicy: chooseRemovalPolicy(local),
    });
    this.arn = key.keyArn;
  }

  /** Write-only access: can encrypt, cannot decrypt. */
  grantSeal(grantee: IGrantable): Grant {
    return this.grant(grantee, 'kms:GenerateDataKey');
  }

  grantOpen(grantee: IGrantable): Grant {
    return this.grant(grantee, 'kms:Decrypt');
  }

  private grant(grantee: IGrantable, action: string): Grant {
    return Grant.addToPrincipal({ grantee, actions: [action], resourceArns: [this.arn] });
  }
}
