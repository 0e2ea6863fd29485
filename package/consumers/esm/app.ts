import { App, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Posthaste } from 'posthaste';

const app = new App();
const stack = new Stack(app, 'Shop');
const webhooks = new Posthaste(stack, 'Webhooks', { defaultRetryPolicy: 'patient' });
const orders = new Role(stack, 'Orders', { assumedBy: new ServicePrincipal('ecs-tasks.amazonaws.com') });
webhooks.grantPublish(orders);
