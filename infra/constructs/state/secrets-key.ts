import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { removalOf } from './protection.ts';

export interface SecretsKeyProps {
  /** Whether it may be deleted, and with it all that was sealed. */
  readonly disposable: boolean;
}

/**
 * The key that signing secrets are sealed under. Its material is renewed every year; KMS keeps the old ones, so what was
 * sealed with them can be opened. Who may use it is IAM's to say, as the policy that CDK gives it leaves it to the account.
 */
export class SecretsKey extends Construct {
  readonly arn: string;

  constructor(scope: Construct, id: string, props: SecretsKeyProps) {
    super(scope, id);
    const key = new Key(this, 'Key', {
      description: 'Posthaste: seals the signing secrets of subscriptions',
      enableKeyRotation: true,
      removalPolicy: removalOf(props.disposable),
    });
    this.arn = key.keyArn;
  }

  /** To make data keys and encrypt under them; nothing that was sealed can be opened with it. */
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
