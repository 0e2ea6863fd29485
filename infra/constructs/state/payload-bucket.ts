import { Duration } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { S3_SERVER_ACCESS_LOGS_USE_BUCKET_POLICY } from 'aws-cdk-lib/cx-api';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { longestScheduleMs } from '../../../shared/domain/retry/policy-schema.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { acknowledgeWildcard } from '../findings.ts';
import { chooseRemovalPolicy } from './protection.ts';

/** Holds message bodies that are too large for a job or a record. */
export class PayloadBucket extends Construct {
  readonly name: string;
  private readonly bucket: Bucket;

  constructor(scope: Construct, id: string, settings: DeploymentSettings) {
    super(scope, id);
    // Other apps may not set this flag. Without it CDK delivers logs by ACL, which buckets since 2023 do not support.
    this.node.setContext(S3_SERVER_ACCESS_LOGS_USE_BUCKET_POLICY, true);
    const everyBucket = {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      // No automatic emptying, because CDK would deploy another function for it.
      removalPolicy: chooseRemovalPolicy(settings.local),
    };
    // Contains the names of objects and who accessed them, never their content.
    const accessLogs = new Bucket(this, 'AccessLogs', {
      ...everyBucket,
      lifecycleRules: [{ expiration: Duration.days(settings.logRetentionDays) }],
    });
    this.bucket = new Bucket(this, 'Bucket', {
      ...everyBucket,
      serverAccessLogsBucket: accessLogs,
      lifecycleRules: [{ expiration: Duration.days(expiryDays(settings)) }],
    });
    this.name = this.bucket.bucketName;
  }

  /** Includes deleting: if a message is erased while its body is written, the writer must remove the body again. */
  grantPut(grantee: IGrantable): Grant {
    return this.grantOnObjects(grantee, 's3:PutObject', 's3:DeleteObject');
  }

  /** Includes listing: without it S3 answers 403 instead of 404 for missing objects. */
  grantGet(grantee: IGrantable): void {
    this.grantOnObjects(grantee, 's3:GetObject');
    Grant.addToPrincipal({ grantee, actions: ['s3:ListBucket'], resourceArns: [this.bucket.bucketArn] });
  }

  private grantOnObjects(grantee: IGrantable, ...actions: string[]): Grant {
    const objects = this.bucket.arnForObjects('*');
    acknowledgeWildcard(
      grantee,
      objects,
      'Each large message has a separate object, whose key is known only at run time.',
    );
    return Grant.addToPrincipal({ grantee, actions, resourceArns: [objects] });
  }
}

/** A payload must outlive its record. One day more than the record, because S3 expires by whole days. */
function expiryDays({ retentionDays, retryAfterCapSeconds }: DeploymentSettings): number {
  return retentionDays + Math.ceil(longestScheduleMs(retryAfterCapSeconds * 1000) / DAY_MS) + 1;
}
