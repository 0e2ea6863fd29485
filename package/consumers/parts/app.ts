import { App, Duration, Stack } from 'aws-cdk-lib';
import { Monitoring, Pipeline, type PosthasteProps, State } from 'posthaste';

const props: PosthasteProps = { retention: Duration.days(90), maxSubscriptionsPerQueue: 500 };
const app = new App();
const state = new State(new Stack(app, 'Data'), 'State', props);
const pipeline = new Pipeline(new Stack(app, 'Shop'), 'Pipeline', { state });
new Monitoring(new Stack(app, 'Watch'), 'Monitoring', { pipeline });
