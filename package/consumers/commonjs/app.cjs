const { App, Stack } = require('aws-cdk-lib');
const { Posthaste } = require('posthaste');

const app = new App();
const stack = new Stack(app, 'Shop');
new Posthaste(stack, 'Webhooks');
